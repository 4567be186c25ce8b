import { BackendUnavailableError } from "../errors.js";
import { onAbort } from "../on-abort.js";
import type { Entry, FeedItem, Revision } from "./store.js";

export type Snapshot = Extract<FeedItem, { readonly kind: "snapshot" }>;

export interface FeedReaderOptions {
  /** Called once, at the first `next()`: from its return on, every change is pushed. */
  readonly join: (reader: FeedReader) => Snapshot;
  readonly leave: (reader: FeedReader) => void;
  readonly bufferedEntries: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiter {
  readonly resolve: (result: IteratorResult<FeedItem, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;

/**
 * One consumer of a `FeedHub`. Written by hand because an async generator cannot be ended while it waits: its
 * `return()` would hang until the next change.
 */
export class FeedReader implements AsyncIterator<FeedItem, undefined> {
  readonly #options: FeedReaderOptions;
  readonly #waiters: Waiter[] = [];
  #state: "new" | "open" | "ended" = "new";
  /** Set between the moment a feed fails and the `next()` that tells the consumer. */
  #failure: { readonly reason: unknown } | null = null;
  #chunks: (readonly Entry[])[] = [];
  #buffered = 0;
  #revision: Revision = 0;
  #stopListening = (): void => {};

  constructor(options: FeedReaderOptions) {
    this.#options = options;
  }

  next(): Promise<IteratorResult<FeedItem, undefined>> {
    if (this.#state === "new") return this.#start();
    if (this.#failure !== null) {
      const { reason } = this.#failure;
      this.#failure = null;
      return Promise.reject(reason);
    }
    if (this.#state === "ended") return Promise.resolve(DONE);
    if (this.#chunks.length > 0) return Promise.resolve({ done: false, value: this.#take() });
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<FeedItem, undefined>> {
    this.#failure = null;
    this.#end();
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
    return Promise.resolve(DONE);
  }

  /** The next change; `entries` are kept, not copied. */
  push(entries: readonly Entry[], revision: Revision): void {
    // Asked before the change is added, so that one large write alone never ends a reader.
    if (this.#buffered > this.#options.bufferedEntries) {
      const behind = `the reader is ${this.#buffered} changes behind; open another feed`;
      return this.fail(new BackendUnavailableError(behind));
    }
    // Progress alone is kept once, however often it comes while nobody reads.
    if (entries.length > 0 || this.#chunks.length === 0) this.#chunks.push(entries);
    this.#buffered += entries.length;
    this.#revision = revision;
    this.#waiters.shift()?.resolve({ done: false, value: this.#take() });
  }

  /** Ends the feed with its reason. What was not yet delivered is dropped. */
  fail(reason: unknown): void {
    if (this.#state === "ended") return;
    this.#end();
    const [first, ...rest] = this.#waiters.splice(0);
    if (first === undefined) this.#failure = { reason };
    else first.reject(reason);
    for (const waiter of rest) waiter.resolve(DONE);
  }

  readonly #abort = (): void => this.fail(this.#options.signal?.reason);

  #start(): Promise<IteratorResult<FeedItem, undefined>> {
    const { signal, join } = this.#options;
    this.#state = "open";
    try {
      signal?.throwIfAborted();
      const value = join(this);
      this.#stopListening = onAbort(signal, this.#abort);
      return Promise.resolve({ done: false, value });
    } catch (reason) {
      this.#end();
      return Promise.reject(reason);
    }
  }

  /** All that is waiting, as one item. */
  #take(): FeedItem {
    const entries = this.#chunks.length === 1 ? (this.#chunks[0] as readonly Entry[]) : this.#chunks.flat();
    this.#chunks = [];
    this.#buffered = 0;
    return { kind: "changes", entries, revision: this.#revision };
  }

  #end(): void {
    this.#state = "ended";
    this.#chunks = [];
    this.#buffered = 0;
    this.#stopListening();
    this.#options.leave(this);
  }
}
