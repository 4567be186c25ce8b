import type { FeedSink, StoreDriver, WriteCall } from "./driver.js";
import { DriverStore } from "./driver-store.js";
import { FeedHub } from "./feed-hub.js";
import { type CasOp, type CasOutcome, type Entry, MAX_KEY_LENGTH, type Revision } from "./store.js";

/**
 * The store without an engine: for tests, simulations and a single process that may forget everything. Every write is
 * decided and published within its own call. Several electors may share one object, as several servers share etcd.
 */
export class MemoryStore extends DriverStore {
  constructor() {
    super(new MemoryDriver());
  }
}

class MemoryDriver implements StoreDriver {
  readonly name = "memory";
  readonly features = { shared: false, durable: false };
  readonly limits = {
    batchOps: 65_536,
    batchesInFlight: 4,
    keyLength: MAX_KEY_LENGTH,
    valueBytes: 2 ** 22,
  };
  readonly #entries = new Map<string, Entry>();
  readonly #hub = new FeedHub(() => ({ entries: [...this.#entries.values()], revision: this.#revision }));
  #revision: Revision = 0;

  async write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    call.begin();
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

  async head(): Promise<Revision> {
    return this.#revision;
  }

  async follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    this.#hub.join(sink, signal);
  }

  async close(): Promise<void> {}
}
