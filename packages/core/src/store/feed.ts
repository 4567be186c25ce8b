import { onAbort } from "../async/on-abort.js";
import type { FeedSink } from "./driver.js";
import type { Entry, FeedItem, Revision } from "./store.js";

export interface FeedOptions {
  /** Called once, at the first `next()`. Its signal is aborted when the feed has ended; a rejection ends the feed. */
  readonly follow: (feed: Feed, signal: AbortSignal) => Promise<void>;
  readonly onEnd: (feed: Feed) => void;
  readonly signal: AbortSignal | undefined;
  /** Above this number of buffered changes only the latest value of each key is kept. */
  readonly maxBufferedEntries?: number;
}

interface Waiter {
  readonly resolve: (result: IteratorResult<FeedItem, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;
const MAX_BUFFERED_ENTRIES = 65_536;

/**
 * One consumer of a store's feed. Written by hand because an async generator cannot be ended while it waits: its `return()`
 * would hang until the next change.
 *
 * A slow consumer gets several changes as one item. One that is far behind gets only the latest value of each key, so a
 * consumer that does not read takes no more memory than the entries themselves.
 */
export class Feed implements AsyncIterator<FeedItem, undefined>, FeedSink {
  readonly #options: FeedOptions;
  readonly #waiters: Waiter[] = [];
  readonly #ending = new AbortController();
  #following: Promise<void> | null = null;
  /** Set between the moment the feed fails and the `next()` that reports it. */
  #failure: { readonly reason: unknown } | null = null;
  #chunks: (readonly Entry[])[] = [];
  #buffered = 0;
  #maxBuffered: number;
  #revision: Revision = 0;
  #stopListening = (): void => {};
  #onWanted = (): void => {};

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#maxBuffered = options.maxBufferedEntries ?? MAX_BUFFERED_ENTRIES;
  }

  next(): Promise<IteratorResult<FeedItem, undefined>> {
    if (this.#failure !== null) {
      const { reason } = this.#failure;
      this.#failure = null;
      return Promise.reject(reason);
    }
    if (this.#hasEnded) return Promise.resolve(DONE);
    if (this.#chunks.length > 0) return Promise.resolve({ done: false, value: this.#take() });
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#following === null) this.#start();
      else this.#onWanted();
    });
  }

  /** Ends the feed and waits until the driver has released it. */
  async return(): Promise<IteratorResult<FeedItem, undefined>> {
    this.#failure = null;
    this.#end();
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
    await this.#following;
    return DONE;
  }

  snapshot(entries: readonly Entry[], revision: Revision): void {
    this.#waiters.shift()?.resolve({ done: false, value: { kind: "snapshot", entries, revision } });
  }

  changes(entries: readonly Entry[], revision: Revision): void {
    if (this.#hasEnded) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined)
      return waiter.resolve({ done: false, value: { kind: "changes", entries, revision } });
    // Progress without entries is kept once, however often it arrives while the consumer does not read.
    if (entries.length > 0 || this.#chunks.length === 0) this.#chunks.push(entries);
    this.#buffered += entries.length;
    this.#revision = revision;
    if (this.#buffered > this.#maxBuffered) this.#compact();
  }

  fail(reason: unknown): void {
    if (this.#hasEnded) return;
    this.#end();
    const [first, ...rest] = this.#waiters.splice(0);
    if (first === undefined) this.#failure = { reason };
    else first.reject(reason);
    for (const waiter of rest) waiter.resolve(DONE);
  }

  wanted(): Promise<void> {
    if (this.#hasEnded || this.#waiters.length > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onWanted = resolve;
    });
  }

  get #hasEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  #start(): void {
    const { signal, follow } = this.#options;
    if (signal?.aborted === true) return this.fail(signal.reason);
    this.#stopListening = onAbort(signal, () => this.fail(signal?.reason));
    this.#following = follow(this, this.#ending.signal).catch((reason: unknown) => this.fail(reason));
  }

  /** Everything that is buffered, as one item. */
  #take(): FeedItem {
    const entries = this.#chunks.length === 1 ? (this.#chunks[0] as readonly Entry[]) : this.#chunks.flat();
    this.#chunks = [];
    this.#buffered = 0;
    return { kind: "changes", entries, revision: this.#revision };
  }

  #compact(): void {
    const latest = new Map<string, Entry>();
    for (const chunk of this.#chunks) {
      for (const entry of chunk) {
        // Moved to the end, because a map keeps the place of a key that it has: entries stay in revision order.
        latest.delete(entry.key);
        latest.set(entry.key, entry);
      }
    }
    this.#chunks = [[...latest.values()]];
    this.#buffered = latest.size;
    this.#maxBuffered = Math.max(this.#maxBuffered, 2 * latest.size);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#ending.abort();
    this.#chunks = [];
    this.#stopListening();
    this.#onWanted();
    this.#options.onEnd(this);
  }
}
