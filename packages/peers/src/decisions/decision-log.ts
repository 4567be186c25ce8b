/**
 * What this server remembers of decisions, in its own store. A decision is final once a majority of the electorate
 * remembers it in one term. A coordinator first has a majority promise to obey no lower term, and learns what they
 * remember: so whatever one coordinator has made final, every later one finds.
 *
 * What every resource manager has applied is done. It is kept for `RETENTION_MS` more, so that whoever asks again in that
 * time is told the same, and then forgotten.
 */
import type { OwnRecords } from "../disk/own-records.js";
import type { Uptime } from "../disk/uptime.js";
import { SerialQueue } from "../serial-queue.js";
import type { HeldDecision, Remembered, TxnDecision } from "./decision.js";
import type { ResourceManager } from "./resource-manager.js";

interface Stored extends Remembered {
  readonly isFinal?: true;
  /** On the server's uptime; absent while some resource manager may have to be told. */
  readonly doneAtMs?: number;
}

export type Promised =
  | { readonly kind: "promised"; readonly held: HeldDecision | null }
  | { readonly kind: "stale"; readonly term: number };

export type HeldPage =
  /** `next`: after which to ask for more; `null` if that was all. */
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
/** So many are told at once. */
export const PAGE = 500;

const PREFIX = "decisions/";
const TERM = "decided-term";

export class DecisionLog {
  readonly #options: DecisionLogOptions;
  /** The ids whose pages are being told, if that was begun in this life. */
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

  /** Of those, what somebody may still have to be told of. */
  open(): readonly HeldDecision[] {
    return [...this.#each(({ doneAtMs }) => doneAtMs === undefined)];
  }

  /**
   * A part of what it holds, in the order of ids, to a coordinator whose term it obeys from now on. The order is made at the
   * first page; what comes after that is the coordinator's own doing.
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
      // What is final cannot be asked for otherwise; and it stays what it is.
      if (known === null || !known.isFinal) await this.#put([[txnId, { decision, term }]]);
      return { kind: "promised", held: this.get(txnId) };
    });
  }

  /** Takes decisions that are final, and which of them are done, for how long. */
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

  /** Forgets what has been done for long, here and at this server's resource manager. Resolves to how many. */
  forget(): Promise<number> {
    return this.#queue.run(async () => {
      const aged = this.all().flatMap(({ txnId, doneForMs }) =>
        doneForMs !== null && doneForMs >= RETENTION_MS ? [txnId] : [],
      );
      // The resource manager first: if this server ends in between, it is done again.
      await this.#options.manager.forget(aged);
      await this.#options.records.put(Object.fromEntries(aged.map((txnId) => [PREFIX + txnId, null])));
      return aged.length;
    });
  }

  /**
   * Forgets what is not final. Only for a server that the electorate does not name any more: whatever a majority remembered
   * was made final before that step, and what is left could contradict a decision that the others have forgotten by the
   * time this server returns.
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
    // A crash sets the uptime back, to before `doneAtMs`: the decision is new then, and is kept the longer.
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
