import { type Entry, type FeedItem, type Revision, onAbort } from "@tenure/core";
import type { Snapshot } from "./snapshot.js";
import type { Watch, WatchParts } from "./watch.js";

export interface FeedParts {
  /** Called once, at the first `next()`. What it rejects with ends the feed; the signal is aborted when the feed ends. */
  readonly open: (sink: FeedSink, signal: AbortSignal) => Promise<Watch>;
  readonly onEnd: () => void;
  readonly signal: AbortSignal | undefined;
}

/** What a feed is told, in this order: the snapshot, changes, and perhaps that no more will come. */
export interface FeedSink extends Pick<WatchParts, "onChanges" | "onBroken"> {
  readonly onSnapshot: (snapshot: Snapshot) => void;
}

interface Waiter {
  readonly resolve: (result: IteratorResult<FeedItem, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;

/**
 * One consumer. While nobody asks, only the latest value of each key is kept for it, so a slow one takes no more memory
 * than the entries themselves.
 */
export class EtcdFeed implements AsyncIterator<FeedItem, undefined> {
  readonly #parts: FeedParts;
  readonly #waiters: Waiter[] = [];
  readonly #ending = new AbortController();
  #isNew = true;
  #stopListening = (): void => undefined;
  #watch: Watch | null = null;
  /** Set between the moment the feed fails and the `next()` that tells the consumer. */
  #failure: { readonly reason: unknown } | null = null;
  /** In the order of their revisions. */
  readonly #changes = new Map<string, Entry>();
  /** Of the last item that was delivered, and of the last change that came. */
  #delivered: Revision = 0;
  #revision: Revision = 0;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  next(): Promise<IteratorResult<FeedItem, undefined>> {
    if (this.#failure !== null) {
      const { reason } = this.#failure;
      this.#failure = null;
      return Promise.reject(reason);
    }
    if (this.#hasEnded) return Promise.resolve(DONE);
    const item = this.#take();
    if (item !== null) return Promise.resolve({ done: false, value: item });
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#isNew) void this.#open();
    });
  }

  return(): Promise<IteratorResult<FeedItem, undefined>> {
    this.#failure = null;
    this.#end();
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
    return Promise.resolve(DONE);
  }

  /** Ends the feed with its reason. What was not yet delivered is dropped. */
  fail(reason: unknown): void {
    if (this.#hasEnded) return;
    this.#end();
    const [first, ...rest] = this.#waiters.splice(0);
    if (first === undefined) this.#failure = { reason };
    else first.reject(reason);
    for (const waiter of rest) waiter.resolve(DONE);
  }

  get #hasEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  async #open(): Promise<void> {
    this.#isNew = false;
    const { signal, open } = this.#parts;
    if (signal?.aborted === true) return this.fail(signal.reason);
    this.#stopListening = onAbort(signal, () => this.fail(signal?.reason));
    const sink: FeedSink = {
      onSnapshot: (snapshot) => this.#begin(snapshot),
      onChanges: (entries, revision) => this.#add(entries, revision),
      onBroken: (reason) => this.fail(reason),
    };
    try {
      this.#watch = await open(sink, this.#ending.signal);
      if (this.#hasEnded) this.#watch.end();
    } catch (reason) {
      this.fail(reason);
    }
  }

  #begin({ entries, revision }: Snapshot): void {
    this.#revision = revision;
    this.#delivered = revision;
    this.#waiters.shift()?.resolve({ done: false, value: { kind: "snapshot", entries, revision } });
  }

  #add(entries: readonly Entry[], revision: Revision): void {
    this.#revision = revision;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      // Whoever waits has had everything before.
      this.#delivered = revision;
      return waiter.resolve({ done: false, value: { kind: "changes", entries, revision } });
    }
    for (const entry of entries) {
      this.#changes.delete(entry.key);
      this.#changes.set(entry.key, entry);
    }
  }

  /** What came since the last item, as one. */
  #take(): FeedItem | null {
    if (this.#revision === this.#delivered) return null;
    const entries = [...this.#changes.values()];
    this.#changes.clear();
    this.#delivered = this.#revision;
    return { kind: "changes", entries, revision: this.#revision };
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#ending.abort();
    this.#watch?.end();
    this.#changes.clear();
    this.#stopListening();
    this.#parts.onEnd();
  }
}
