/** Test only: the commands and the state of the naive model. See `naive-twin.test-kit.ts`. */
import type { HeldBack } from "../elector.js";
import type { EndReason, LeadershipEvent } from "../event.js";
import type { GroupConfig, Holder } from "../record.js";
import type { Claim } from "./claim.js";
import type { Arrival } from "./waiters.test-kit.js";

/** Commands for a group; `waiters` are queued at the server that receives the command. */
export type Command =
  | { readonly verb: "campaign"; readonly candidate: Holder }
  | { readonly verb: "renew"; readonly claim: Claim; readonly ttlMs: number }
  | { readonly verb: "resign"; readonly claim: Claim; readonly waiters: readonly Arrival[] }
  | { readonly verb: "upkeep"; readonly waiters: readonly Arrival[] }
  | {
      readonly verb: "step-down";
      readonly banMs: number;
      readonly force: boolean;
      readonly waiters: readonly Arrival[];
    }
  | {
      readonly verb: "transfer";
      readonly toNodeId: string;
      readonly timeoutMs: number;
      readonly allowCold: boolean;
    }
  | { readonly verb: "pause"; readonly forMs: number | null }
  | { readonly verb: "resume" }
  | { readonly verb: "create"; readonly config: GroupConfig }
  | { readonly verb: "update"; readonly config: GroupConfig }
  | { readonly verb: "delete"; readonly force: boolean };

/** The name of every operator in these runs. */
export const OPERATOR = "operator";

export interface NaiveOutcome {
  readonly kind: string;
  readonly leaderNodeId?: string | null;
  /** Everything that keeps a candidate from winning, and for how long. */
  readonly heldBack?: readonly { readonly by: HeldBack; readonly leftMs: number | null }[];
}

export interface NaiveTerm {
  readonly term: number;
  holder: Holder;
  ended: EndReason | null;
}

export interface NaiveState {
  readonly terms: NaiveTerm[];
  readonly events: LeadershipEvent[];
  leaseUntilMs: number;
  deposedBy: string | null;
  bans: { nodeId: string; untilMs: number }[];
  successor: {
    nodeId: string;
    untilMs: number;
    ready: boolean;
    by: string | null;
    allowCold: boolean;
  } | null;
  pausedUntilMs: number;
  restsUntilMs: number;
  config: GroupConfig | null;
  /** Deleted, or never created. */
  deleted: boolean;
  /** How many events the last deletion has dropped. */
  dropped: number;
}

export const LONG_AGO: number = Number.NEGATIVE_INFINITY;
export const UNTIL_RESUMED: number = Number.POSITIVE_INFINITY;
