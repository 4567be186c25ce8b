/**
 * What this server remembers of decisions, in its own store. A decision is final once a majority of the electorate
 * remembers it in one term. A coordinator first makes a majority promise to obey no lower term, and learns what they
 * remember. So every later coordinator finds what an earlier one has made final.
 *
 * A decision that every resource manager has applied is done. It is kept for `RETENTION_MS` more, so that a repeated
 * question in that time gets the same answer, and then forgotten.
 */
import type { OwnRecords } from "../disk/own-records.js";
import type { Uptime } from "../disk/uptime.js";
import { SerialQueue } from "../serial-queue.js";
import type { HeldDecision, Remembered, TxnDecision } from "./decision.js";
import type { ResourceManager } from "./resource-manager.js";

interface Stored extends Remembered {
  readonly isFinal?: true;
  /** On the server's uptime; absent while a resource manager may still have to apply it. */
  readonly doneAtMs?: number;
}

export type Promised =
  | { readonly kind: "promised"; readonly held: HeldDecision | null }
  | { readonly kind: "stale"; readonly term: number };

export type HeldPage =
  /** `next`: the id after which to continue; `null` if that was all. */
  | {
      readonly kind: "promised";
      readonly decisions: readonly HeldDecision[];
      readonly next: string | null;
    }
  | { readonly kind: "stale"; readonly term: number };

export interface DecisionLogOptions {
  readonly records: OwnRecords;
  readonly uptime: Uptime;
  /** What it has applied is final. */
  readonly manager: ResourceManager;
}

/** A day of the server's uptime. */
export const RETENTION_MS = 86_400_000;
/** The number of decisions in one page. */
export const PAGE = 500;

const PREFIX = "decisions/";
const TERM = "decided-term";

export class DecisionLog {
  readonly #options: DecisionLogOptions;
  /** The ids of the pages being sent, if that was begun since this process started. */
  readonly #listed = new Map<"all" | "open", readonly string[]>();
  readonly #queue = new SerialQueue();

  constructor(options: DecisionLogOptions) {
    this.#options = options;
  }

  /** The highest term that it has promised to obey. */
  get term(): number {
    return (this.#options.records.get(TERM) as number | null) ?? 0;
  }

  get(txnId: string): HeldDecision | null {
    const stored = this.#stored(txnId);
    if (stored !== null) return this.#held(txnId, stored);
    const applied = this.#options.manager.applied(txnId);
    return applied === null ? null : { txnId, ...applied, isFinal: true, doneForMs: null };
  }

  /** Everything that it holds. */
  all(): readonly HeldDecision[] {
    return [...this.#each(() => true)];
  }

  /** Of those, the ones that a resource manager may still have to apply. */
  open(): readonly HeldDecision[] {
    return [...this.#each(({ doneAtMs }) => doneAtMs === undefined)];
  }

  /**
   * A part of what it holds, in the order of ids, for a coordinator whose term it obeys from now on. The order is fixed
   * at the first page; what comes after that is the coordinator's own doing.
   */
  page(term: number, which: "all" | "open", after: string): Promise<HeldPage> {
    return this.#queue.run(async () => {
      if (!(await this.#obeys(term))) return { kind: "stale", term: this.term };
      const begun = after === "" ? undefined : this.#listed.get(which);
      const ids =
        begun ??
        this[which]()
          .map(({ txnId }) => txnId)
          .toSorted();
      this.#listed.set(which, ids);
      const from = firstAbove(ids, after);
      const decisions = ids.slice(from, from + PAGE).map((txnId) => this.get(txnId));
      return {
        kind: "promised",
        decisions: decisions.filter((each) => each !== null),
        next: ids.length > from + PAGE ? (ids[from + PAGE - 1] as string) : null,
      };
    });
  }

  prepare(txnId: string, term: number): Promise<Promised> {
    return this.#queue.run(async () => {
      if (!(await this.#obeys(term))) return { kind: "stale", term: this.term };
      return { kind: "promised", held: this.get(txnId) };
    });
  }

  remember({ txnId, decision, term }: TxnDecision): Promise<Promised> {
    return this.#queue.run(async () => {
      if (!(await this.#obeys(term))) return { kind: "stale", term: this.term };
      const known = this.get(txnId);
      // A final decision cannot be changed by another request; it stays as it is.
      if (known === null || !known.isFinal) await this.#put([[txnId, { decision, term }]]);
      return { kind: "promised", held: this.get(txnId) };
    });
  }

  /** Takes decisions that are final, which of them are done, and for how long. */
  take(decisions: readonly Omit<HeldDecision, "isFinal">[]): Promise<void> {
    return this.#queue.run(async () => {
      const nowMs = this.#options.uptime.nowMs();
      const changes = decisions.flatMap(({ txnId, decision, term, doneForMs }): [string, Stored][] => {
        const known = this.#stored(txnId);
        const isKnown = known?.isFinal === true && (known.doneAtMs !== undefined || doneForMs === null);
        const isForgotten = this.get(txnId) === null && (doneForMs ?? 0) >= RETENTION_MS;
        if (isKnown || isForgotten) return [];
        const done = doneForMs === null ? {} : { doneAtMs: nowMs - doneForMs };
        return [[txnId, { decision, term, isFinal: true, ...done }]];
      });
      if (changes.length > 0) await this.#put(changes);
    });
  }

  /**
   * Forgets decisions that have been done for `RETENTION_MS`, here and at this server's resource manager. Resolves to
   * their number.
   */
  forget(): Promise<number> {
    return this.#queue.run(async () => {
      const aged = this.all().flatMap(({ txnId, doneForMs }) =>
        doneForMs !== null && doneForMs >= RETENTION_MS ? [txnId] : [],
      );
      // The resource manager first: if this server ends in between, the step is repeated.
      await this.#options.manager.forget(aged);
      await this.#options.records.put(Object.fromEntries(aged.map((txnId) => [PREFIX + txnId, null])));
      return aged.length;
    });
  }

  /**
   * Forgets what is not final. Only for a server that is no longer in the electorate: what a majority remembered was
   * made final before that step, and the rest could contradict a decision that the others have forgotten by the time
   * this server returns.
   */
  forgetOpen(): Promise<void> {
    return this.#queue.run(async () => {
      const open = this.all().filter(({ isFinal }) => !isFinal);
      await this.#options.records.put(Object.fromEntries(open.map(({ txnId }) => [PREFIX + txnId, null])));
    });
  }

  /** Resolves when everything begun so far is on disk. */
  async settled(): Promise<void> {
    await this.#queue.settled();
  }

  *#each(isWanted: (stored: Stored) => boolean): Iterable<HeldDecision> {
    const { records, manager } = this.#options;
    for (const [txnId, value] of records.under(PREFIX)) {
      if (isWanted(value as Stored)) yield this.#held(txnId, value as Stored);
    }
    for (const [txnId, applied] of manager.all()) {
      if (this.#stored(txnId) === null && isWanted(applied))
        yield { txnId, ...applied, isFinal: true, doneForMs: null };
    }
  }

  async #obeys(term: number): Promise<boolean> {
    if (term > this.term) await this.#options.records.put({ [TERM]: term });
    return term >= this.term;
  }

  #stored(txnId: string): Stored | null {
    return this.#options.records.get(PREFIX + txnId) as Stored | null;
  }

  #held(txnId: string, stored: Stored): HeldDecision {
    const { uptime, manager } = this.#options;
    const applied = manager.applied(txnId);
    const { decision, term } = applied ?? stored;
    // A crash sets the uptime back to before `doneAtMs`: the decision then appears new, and is kept longer.
    const doneForMs = stored.doneAtMs === undefined ? null : Math.max(0, uptime.nowMs() - stored.doneAtMs);
    return { txnId, decision, term, isFinal: stored.isFinal === true || applied !== null, doneForMs };
  }

  #put(changes: readonly (readonly [string, Stored])[]): Promise<void> {
    return this.#options.records.put(
      Object.fromEntries(changes.map(([txnId, value]) => [PREFIX + txnId, value])),
    );
  }
}

/** By halving. */
function firstAbove(sorted: readonly string[], after: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as string) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}
