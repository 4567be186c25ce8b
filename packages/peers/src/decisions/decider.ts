/**
 * The coordinator's part of decisions: it makes one final at a majority of the electorate, then has every registered
 * resource manager apply it, those that were away as soon as they are back. Whoever becomes coordinator takes up what the
 * one before has left.
 */
import { type Clock, sleep, unlessAborted } from "@tenure/core";
import type { Configuration } from "../protocol/messages.js";
import type { Decision, Remembered, TxnDecision } from "./decision.js";
import type { DecisionLog, Promised } from "./decision-log.js";
import type { Applied } from "./resource-manager.js";

/** Calls to others; each rejects when no answer came. `from` is who answered: its certificate, and its disk. */
export interface DecisionCalls {
  prepare(endpoint: string, txnId: string, term: number, signal: AbortSignal): Promise<Heard<Promised>>;
  remember(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<Heard<Promised>>;
  /** What that server has open. */
  open(endpoint: string, signal: AbortSignal): Promise<Heard<readonly TxnDecision[]>>;
  done(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<void>;
  apply(endpoint: string, decision: TxnDecision, signal: AbortSignal): Promise<Applied>;
}

export interface Heard<T> {
  readonly from: { readonly identity: string | null; readonly disk: string };
  readonly value: T;
}

export interface DeciderOptions {
  readonly self: { readonly identity: string; readonly endpoint: string };
  readonly clock: Clock;
  readonly limitMs: number;
  readonly log: DecisionLog;
  readonly calls: DecisionCalls;
  readonly electorate: () => Configuration | null;
  readonly resourceManagers: () => readonly string[];
  readonly onFinal: (decision: Decision) => void;
  readonly onFailure: (endpoint: string, cause: unknown) => void;
}

export type Settled =
  | { readonly kind: "final"; readonly decision: Decision; readonly pending: readonly string[] }
  /** Nobody has decided it, and nothing was proposed. */
  | { readonly kind: "undecided" }
  /** A newer coordinator exists. */
  | { readonly kind: "stale"; readonly term: number }
  /** It may become final yet: a minority may remember it. */
  | { readonly kind: "no-majority" };

type Votes<T> = { readonly kind: "majority"; readonly values: readonly T[] } | { readonly kind: "none" };

export class Decider {
  readonly #options: DeciderOptions;
  readonly #settling = new Map<string, Promise<unknown>>();
  /** By transaction: who has applied it. */
  readonly #delivered = new Map<string, Set<string>>();
  #leading: Promise<void> = Promise.resolve();

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  /** Not yet applied everywhere. */
  get undelivered(): number {
    return this.#options.log.open().length;
  }

  /** Takes up the office: finishes what is open, and goes on delivering until the signal aborts. */
  lead(term: number, signal: AbortSignal): void {
    this.#leading = this.#leading.then(() => this.#run(term, signal));
  }

  async stopped(): Promise<void> {
    await this.#leading;
  }

  /** `wanted` only counts where nothing was decided before; `null` asks. One at a time for each transaction. */
  async settle(txnId: string, wanted: Decision | null, term: number): Promise<Settled> {
    const before = this.#settling.get(txnId) ?? Promise.resolve();
    const turn = before.then(() => this.#settle(txnId, wanted, term));
    const settled = turn.catch(() => {});
    this.#settling.set(txnId, settled);
    void settled.then(() => {
      if (this.#settling.get(txnId) === settled) this.#settling.delete(txnId);
    });
    return turn;
  }

  async #settle(txnId: string, wanted: Decision | null, term: number): Promise<Settled> {
    const { log, calls } = this.#options;
    const known = log.get(txnId);
    if (known?.isFinal === true) return this.#finish({ txnId, decision: known.decision, term });
    const prepared = await this.#majority(
      () => log.prepare(txnId, term),
      (endpoint, signal) => calls.prepare(endpoint, txnId, term, signal),
    );
    if (prepared.kind === "none") return { kind: "no-majority" };
    const stale = prepared.values.find((each) => each.kind === "stale");
    if (stale?.kind === "stale") return stale;
    const decision = latest(prepared.values)?.decision ?? wanted;
    if (decision === null) return { kind: "undecided" };
    const record: TxnDecision = { txnId, decision, term };
    const remembered = await this.#majority(
      () => log.remember(record),
      (endpoint, signal) => calls.remember(endpoint, record, signal),
    );
    if (remembered.kind === "none") return { kind: "no-majority" };
    const later = remembered.values.find((each) => each.kind === "stale");
    if (later?.kind === "stale") return later;
    await log.mark(txnId, decision, "isFinal");
    this.#options.onFinal(decision);
    return this.#finish(record);
  }

  async #finish(record: TxnDecision): Promise<Settled> {
    return { kind: "final", decision: record.decision, pending: await this.#deliver(record) };
  }

  /** Returns who has not applied it yet. */
  async #deliver(record: TxnDecision): Promise<readonly string[]> {
    const { log, calls, resourceManagers, onFailure, self } = this.#options;
    const { txnId, decision } = record;
    if (log.get(txnId)?.isDone === true) return [];
    const delivered = this.#delivered.get(txnId) ?? new Set<string>();
    this.#delivered.set(txnId, delivered);
    const all = resourceManagers();
    await this.#within((signal) =>
      Promise.all(
        all
          .filter((endpoint) => !delivered.has(endpoint))
          .map(async (endpoint) => {
            try {
              const applied = await calls.apply(endpoint, record, signal);
              if (applied.kind === "applied") delivered.add(endpoint);
              else
                onFailure(
                  endpoint,
                  new Error(`${endpoint} refused to ${decision} ${txnId}: ${applied.kind}`),
                );
            } catch (cause) {
              onFailure(endpoint, cause);
            }
          }),
      ),
    );
    const pending = all.filter((endpoint) => !delivered.has(endpoint));
    // Without any resource manager there is nobody who could hold the decision: it stays open.
    if (pending.length > 0 || all.length === 0) return pending;
    await log.mark(txnId, decision, "isDone");
    this.#delivered.delete(txnId);
    const others = Object.values(this.#options.electorate()?.members ?? {});
    await this.#within((signal) =>
      Promise.allSettled(
        others.flatMap(({ endpoint }) =>
          endpoint === self.endpoint ? [] : [calls.done(endpoint, record, signal)],
        ),
      ),
    );
    return [];
  }

  async #run(term: number, signal: AbortSignal): Promise<void> {
    const { clock, limitMs, log } = this.#options;
    this.#delivered.clear();
    let isRecovered = false;
    while (!signal.aborted) {
      isRecovered ||= await unlessAborted(signal, this.#recover(term, signal)).catch(() => false);
      for (const { txnId } of isRecovered ? log.open() : []) {
        if (signal.aborted) return;
        await unlessAborted(signal, this.settle(txnId, null, term)).catch(() => {});
      }
      await sleep(clock, limitMs, signal).catch(() => {});
    }
  }

  /** What the coordinator before has begun is known to some of any majority. */
  async #recover(term: number, signal: AbortSignal): Promise<boolean> {
    const { log, calls } = this.#options;
    const found = await this.#majority(
      () => Promise.resolve(log.open()),
      (endpoint, limit) => calls.open(endpoint, limit),
    );
    if (found.kind === "none") return false;
    for (const txnId of new Set(found.values.flat().map((each) => each.txnId))) {
      if (signal.aborted) return false;
      const settled = await this.settle(txnId, null, term);
      if (settled.kind === "no-majority") return false;
    }
    return true;
  }

  /**
   * Asks everybody of the electorate; an elector with another disk is none. Oneself first: what this server does not hold
   * itself it must not have told others, or it could tell two things in one term.
   */
  async #majority<T>(
    own: () => Promise<T>,
    call: (endpoint: string, signal: AbortSignal) => Promise<Heard<T>>,
  ): Promise<Votes<T>> {
    const { electorate, self } = this.#options;
    const members = electorate()?.members ?? {};
    if (members[self.identity] === undefined) return { kind: "none" };
    const values: T[] = [await own()];
    await this.#within((signal) =>
      Promise.all(
        Object.entries(members).map(async ([identity, { endpoint, disk }]) => {
          if (identity === self.identity) return;
          // Whoever fails counts for nothing; a majority decides.
          const heard = await call(endpoint, signal).catch(() => null);
          if (heard?.from.identity === identity && heard.from.disk === disk) values.push(heard.value);
        }),
      ),
    );
    return 2 * values.length > Object.keys(members).length ? { kind: "majority", values } : { kind: "none" };
  }

  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, limitMs } = this.#options;
    const limit = new AbortController();
    const cancel = clock.after(limitMs, () => limit.abort(new Error(`no answer within ${limitMs} ms`)));
    return work(limit.signal).finally(cancel);
  }
}

/** Of what a majority remembers the one of the highest term may be final, and none but that. */
function latest(promises: readonly Promised[]): Remembered | null {
  let found: Remembered | null = null;
  for (const each of promises) {
    const remembered = each.kind === "promised" ? each.remembered : null;
    if (remembered !== null && remembered.term >= (found?.term ?? 0)) found = remembered;
  }
  return found;
}
