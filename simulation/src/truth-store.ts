import type {
  CallOptions,
  CasOp,
  CasOutcome,
  FeedItem,
  Revision,
  Store,
  StoreFeatures,
  StoreLimits,
} from "@tenure/core";

/** The one shared store, with a hook: `onWrite` is called for every accepted write at the moment it is accepted. */
export class TruthStore implements Store {
  readonly name: string;
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
  readonly #inner: Store;
  readonly #onWrite: (key: string, value: string, revision: Revision) => void;

  constructor(inner: Store, onWrite: (key: string, value: string, revision: Revision) => void) {
    this.name = inner.name;
    this.features = inner.features;
    this.limits = inner.limits;
    this.#inner = inner;
    this.#onWrite = onWrite;
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const outcomes = await this.#inner.compareAndSet(batch, options);
    batch.forEach((op, index) => {
      const outcome = outcomes[index];
      if (outcome?.kind === "swapped") this.#onWrite(op.key, op.value, outcome.revision);
    });
    return outcomes;
  }

  sync(options?: CallOptions): Promise<Revision> {
    return this.#inner.sync(options);
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return this.#inner.feed(options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
