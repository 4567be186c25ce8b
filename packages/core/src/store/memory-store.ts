import { ClosedError } from "../errors.js";
import { checkBatch } from "./check-batch.js";
import { FeedHub } from "./feed-hub.js";
import type {
  CallOptions,
  CasOp,
  CasOutcome,
  Entry,
  FeedItem,
  Revision,
  Store,
  StoreLimits,
} from "./store.js";

/**
 * The store without an engine: for tests, simulations and a single process that may forget everything. Every write is
 * decided and published within its own call. Several electors may share one object, as several servers share etcd.
 */
export class MemoryStore implements Store {
  readonly name = "memory";
  readonly limits: StoreLimits = { batchOps: 65_536, batchesInFlight: 4, valueBytes: 2 ** 22 };
  readonly #entries = new Map<string, Entry>();
  readonly #hub = new FeedHub(() => ({ entries: [...this.#entries.values()], revision: this.#revision }));
  #revision: Revision = 0;
  #closed = false;

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    this.#admit(options);
    checkBatch(batch, this.limits);
    const written: Entry[] = [];
    const outcomes = batch.map((op): CasOutcome => {
      const current = this.#entries.get(op.key) ?? null;
      if ((current?.revision ?? null) !== op.expected) return { kind: "conflict", current };
      const entry: Entry = { key: op.key, value: op.value, revision: ++this.#revision };
      this.#entries.set(op.key, entry);
      written.push(entry);
      return { kind: "swapped", revision: entry.revision };
    });
    if (written.length > 0) this.#hub.publish(written, this.#revision);
    return outcomes;
  }

  async sync(options?: CallOptions): Promise<Revision> {
    this.#admit(options);
    return this.#revision;
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return this.#hub.feed(options);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#hub.close(new ClosedError("the store is closed"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #admit(options: CallOptions | undefined): void {
    if (this.#closed) throw new ClosedError("the store is closed");
    options?.signal?.throwIfAborted();
  }
}
