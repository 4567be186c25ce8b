/** The store of a scenario as one server sees it: what was accepted is printed, and the next write may meet a chosen fate. */
import type { CallOptions, CasOp, CasOutcome, FeedItem, Revision, Store } from "@tenure/core";
import type { FaultPlan, VirtualClock } from "@tenure/core/testing";

/** Passes everything on and reports each write that the store accepted, when it did. */
export class Journal implements Store {
  readonly name: string;
  readonly features: Store["features"];
  readonly limits: Store["limits"];
  readonly #store: Store;
  readonly #onWrite: (key: string, value: string) => void;

  constructor(store: Store, onWrite: (key: string, value: string) => void) {
    this.name = store.name;
    this.features = store.features;
    this.limits = store.limits;
    this.#store = store;
    this.#onWrite = onWrite;
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const outcomes = await this.#store.compareAndSet(batch, options);
    batch.forEach(({ key, value }, i) => {
      if (outcomes[i]?.kind === "swapped") this.#onWrite(key, value);
    });
    return outcomes;
  }

  sync(options?: CallOptions): Promise<Revision> {
    return this.#store.sync(options);
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return this.#store.feed(options);
  }

  /** The servers of a scenario share the store. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const RECORDS = "r/";
const HISTORIES = "h/";

/** What becomes of one write of a record. */
export interface Fate {
  readonly plan: Partial<FaultPlan>;
  /** Written after this time, although its sender has given up. */
  readonly lateMs?: number;
}

/** `store` draws the fate of a call from `plan` when it is called, so the plan is changed for that one call. */
export class FatefulStore extends Journal {
  readonly #fates: Fate[] = [];
  readonly #faulty: Store & { readonly plan: FaultPlan };
  readonly #truth: Store;
  readonly #time: VirtualClock;
  #historyLostUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: {
    readonly faulty: Store & { readonly plan: FaultPlan };
    readonly truth: Store;
    readonly time: VirtualClock;
  }) {
    super(options.faulty, () => {});
    this.#faulty = options.faulty;
    this.#truth = options.truth;
    this.#time = options.time;
  }

  /** The next write of a record that has no fate yet meets this one. */
  next(fate: Fate): void {
    this.#fates.push(fate);
  }

  /** No history is written for this time. */
  loseHistory(forMs: number): void {
    this.#historyLostUntilMs = this.#time.monotonicMs() + forMs;
  }

  override compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const fate = this.#fateOf(batch);
    if (fate === undefined) return this.#faulty.compareAndSet(batch, options);
    const { plan } = this.#faulty;
    const before = { ...plan };
    Object.assign(plan, fate.plan);
    try {
      if (fate.lateMs !== undefined)
        this.#time.after(fate.lateMs, () => void this.#truth.compareAndSet(batch));
      return this.#faulty.compareAndSet(batch, options);
    } finally {
      Object.assign(plan, before);
    }
  }

  #fateOf(batch: readonly CasOp[]): Fate | undefined {
    const writes = (prefix: string): boolean => batch.some(({ key }) => key.startsWith(prefix));
    if (writes(HISTORIES) && this.#time.monotonicMs() < this.#historyLostUntilMs)
      return { plan: { lostRequestRate: 1 } };
    return writes(RECORDS) ? this.#fates.shift() : undefined;
  }
}
