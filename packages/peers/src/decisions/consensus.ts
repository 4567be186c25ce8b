/**
 * Makes one transaction final at a majority of the electorate: first a majority promises to obey no lower term and
 * shows what it remembers, then a majority remembers the decision.
 */
import type { Clock } from "@tenure/core";
import { askAll } from "../protocol/ask-all.js";
import { isMajority, isSameConfiguration } from "../protocol/configuration.js";
import type { Configuration } from "../protocol/messages.js";
import type { Decision, HeldDecision, TxnDecision } from "./decision.js";
import { type DecisionCalls, type Heard, isVoter } from "./decision-calls.js";
import type { DecisionLog, Promised } from "./decision-log.js";

export interface ConsensusOptions {
  readonly self: { readonly identity: string };
  readonly clock: Clock;
  readonly limitMs: number;
  readonly log: DecisionLog;
  readonly calls: Pick<DecisionCalls, "prepare" | "remember">;
  readonly electorate: () => Configuration | null;
  readonly onFinal: (decision: TxnDecision) => void;
}

export type MadeFinal =
  | { readonly kind: "final"; readonly record: TxnDecision }
  /** It is not decided, and nothing was proposed. */
  | { readonly kind: "undecided" }
  /** A newer coordinator exists. */
  | { readonly kind: "stale"; readonly term: number }
  /** It may still become final, because a minority may remember it. */
  | { readonly kind: "no-majority" };

type Votes<T> = { readonly kind: "majority"; readonly values: readonly T[] } | { readonly kind: "none" };

export class Consensus {
  readonly #options: ConsensusOptions;
  readonly #settling = new Map<string, Promise<unknown>>();

  constructor(options: ConsensusOptions) {
    this.#options = options;
  }

  /** `wanted` counts only if nothing was decided before; `null` only asks. One call at a time for each transaction. */
  makeFinal(txnId: string, wanted: Decision | null, term: number): Promise<MadeFinal> {
    const before = this.#settling.get(txnId) ?? Promise.resolve();
    const turn = before.then(() => this.#decide(txnId, wanted, term));
    const settled = turn.catch(() => {});
    this.#settling.set(txnId, settled);
    void settled.then(() => {
      if (this.#settling.get(txnId) === settled) this.#settling.delete(txnId);
    });
    return turn;
  }

  async #decide(txnId: string, wanted: Decision | null, term: number): Promise<MadeFinal> {
    const { log, calls } = this.#options;
    const known = log.get(txnId);
    if (known?.isFinal === true)
      return { kind: "final", record: { txnId, decision: known.decision, term: known.term } };
    const prepared = await this.#majority(
      () => log.prepare(txnId, term),
      (endpoint, signal) => calls.prepare(endpoint, txnId, term, signal),
    );
    if (prepared.kind === "none") return { kind: "no-majority" };
    const stale = prepared.values.find((each) => each.kind === "stale");
    if (stale?.kind === "stale") return stale;
    const decision = binding(prepared.values)?.decision ?? wanted;
    if (decision === null) return { kind: "undecided" };
    const record: TxnDecision = { txnId, decision, term };
    const remembered = await this.#majority(
      () => log.remember(record),
      (endpoint, signal) => calls.remember(endpoint, record, signal),
    );
    if (remembered.kind === "none") return { kind: "no-majority" };
    const later = remembered.values.find((each) => each.kind === "stale");
    if (later?.kind === "stale") return later;
    await log.take([{ ...record, doneForMs: null }]);
    this.#options.onFinal(record);
    return { kind: "final", record };
  }

  /**
   * Asks all electors until a majority has answered; an elector with another disk does not count. This server comes
   * first: it must hold a decision before others do, or it could propose two decisions in one term. If the electorate
   * changes meanwhile, the current one is asked again.
   */
  async #majority<T>(
    own: () => Promise<T>,
    call: (endpoint: string, signal: AbortSignal) => Promise<Heard<T>>,
  ): Promise<Votes<T>> {
    const { electorate, self, clock, limitMs } = this.#options;
    for (;;) {
      const config = electorate();
      if (config === null || !Object.hasOwn(config.members, self.identity)) return { kind: "none" };
      const values = new Map<string, T>([[self.identity, await own()]]);
      const isEnough = (): boolean => isMajority(config.members, (identity) => values.has(identity));
      const others = Object.entries(config.members).filter(([identity]) => identity !== self.identity);
      const asking = askAll(
        clock,
        limitMs,
        isEnough() ? [] : new Set(others.map(([, { endpoint }]) => endpoint)),
        call,
        ({ from, value }) => {
          if (from.identity === null || !isVoter(config, from)) return;
          values.set(from.identity, value);
          if (isEnough()) asking.end();
        },
      );
      await asking.done;
      if (!isEnough()) return { kind: "none" };
      if (isSameConfiguration(config, electorate()))
        return { kind: "majority", values: [...values.values()] };
    }
  }
}

/** A final decision binds. Otherwise, of what a majority remembers, only the decision of the highest term may be final. */
function binding(promises: readonly Promised[]): HeldDecision | null {
  let found: HeldDecision | null = null;
  for (const each of promises) {
    const held = each.kind === "promised" ? each.held : null;
    if (held === null) continue;
    if (held.isFinal) return held;
    if (held.term >= (found?.term ?? 0)) found = held;
  }
  return found;
}
