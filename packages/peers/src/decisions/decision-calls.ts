/** The calls of a coordinator to other servers about decisions. */
import type { Configuration } from "../protocol/messages.js";
import type { HeldDecision, TxnDecision } from "./decision.js";
import type { HeldPage, Promised } from "./decision-log.js";
import type { Applied } from "./resource-manager.js";

/**
 * Calls to other servers; each rejects if no answer came. `from` identifies the server that answered: its certificate
 * and its disk.
 */
export interface DecisionCalls {
  prepare(endpoint: string, txnId: string, term: number, signal: AbortSignal): Promise<Heard<Promised>>;
  remember(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<Heard<Promised>>;
  /** A page of what that server holds. */
  held(endpoint: string, asked: HeldQuestion, signal: AbortSignal): Promise<Heard<HeldPage>>;
  /** Sends decisions that are final. */
  tell(
    endpoint: string,
    decisions: readonly HeldDecision[],
    term: number,
    signal: AbortSignal,
  ): Promise<Heard<void>>;
  apply(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<Applied>;
}

export interface HeldQuestion {
  readonly term: number;
  readonly which: "all" | "open";
  /** Ids above this one. */
  readonly after: string;
}

export interface Heard<T> {
  readonly from: { readonly identity: string | null; readonly disk: string };
  readonly value: T;
}

/** Whether the answer comes from an elector, and not from its identity with another disk. */
export function isVoter({ members }: Configuration, { identity, disk }: Heard<unknown>["from"]): boolean {
  return identity !== null && Object.hasOwn(members, identity) && members[identity]?.disk === disk;
}
