/**
 * Follows the store's feed: passes on each entry, knows how far the feed has come, and opens a new feed when one
 * breaks.
 */
import { type CancelTimer, type Clock, sleep } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";
import { onAbort, unlessAborted } from "../async/on-abort.js";
import type { Entry, FeedItem, Revision, Store } from "../store/store.js";

interface RevisionWaiter {
  readonly revision: Revision;
  readonly resolve: () => void;
}

const FIRST_RETRY_MS = 10;
const MAX_RETRY_MS = 1000;
/** How long a feed may be silent while it owes something that `sync` has shown; doubled after each feed without success. */
const MIN_SILENCE_MS = 5000;
const MAX_SILENCE_MS = 60_000;

/** Where the entries go; called in the order of the feed. */
export interface FeedSink {
  snapshot(entries: readonly Entry[], revision: Revision): void;
  changes(entries: readonly Entry[], revision: Revision): void;
}

export class FeedFollower {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #sink: FeedSink;
  readonly #stop = new AbortController();
  #waiting: RevisionWaiter[] = [];
  #progress: Revision = 0;
  #broken: unknown = null;
  /** Ends the current feed, for any reason but the end of the follower. */
  #feed = new AbortController();
  /** Since when a caller waits for something that the feed has not delivered, with nothing delivered at all. */
  #owedSinceMs: number | null = null;
  #silenceMs = MIN_SILENCE_MS;
  #cancelCheck: CancelTimer | null = null;
  #done: Promise<void> = Promise.resolve();

  constructor(store: Store, clock: Clock, sink: FeedSink) {
    this.#store = store;
    this.#clock = clock;
    this.#sink = sink;
  }

  start(): void {
    this.#done = this.#follow();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#feed.abort(this.#stop.signal.reason);
    this.#cancelCheck?.();
    await this.#done;
  }

  /** Why there is no feed at the moment; `null` while there is one. */
  get broken(): unknown {
    return this.#broken;
  }

  /** Resolves when everything at or below `revision` has been passed on. */
  reached(revision: Revision, signal: AbortSignal): Promise<void> {
    if (this.#progress >= revision) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = {
        revision,
        resolve: () => {
          stopListening();
          resolve();
        },
      };
      const abort = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return abort();
      this.#owedSinceMs ??= this.#clock.monotonicMs();
      if (this.#cancelCheck === null) this.#checkAfter(this.#silenceMs);
      const stopListening = onAbort(signal, abort);
      this.#waiting.push(waiting);
    });
  }

  async #follow(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!this.#stop.signal.aborted) {
      this.#feed = new AbortController();
      this.#owedSinceMs = null;
      try {
        for await (const item of this.#items(this.#feed.signal)) {
          this.#take(item);
          this.#broken = null;
          this.#owedSinceMs = null;
          this.#silenceMs = MIN_SILENCE_MS;
          retryMs = FIRST_RETRY_MS;
        }
        throw new BackendUnavailableError("the feed ended without a reason");
      } catch (error) {
        this.#broken = error;
      }
      await sleep(this.#clock, retryMs, this.#stop.signal).catch(() => {});
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  }

  /** The store's feed. It ends with the signal, even if the store ignores the signal. */
  async *#items(signal: AbortSignal): AsyncGenerator<FeedItem, undefined> {
    const iterator = this.#store.feed({ signal })[Symbol.asyncIterator]();
    try {
      for (;;) {
        const result = await unlessAborted(signal, iterator.next());
        if (result.done === true) return;
        yield result.value;
      }
    } finally {
      // A feed that hangs never returns.
      iterator.return?.()?.catch(() => {});
    }
  }

  /** The limit may fall to `MIN_SILENCE_MS` meanwhile. In a process that was stopped, the timer is due before the feed is read. */
  #checkAfter(leftMs: number): void {
    const delayMs = Math.min(leftMs, MIN_SILENCE_MS);
    this.#cancelCheck = this.#clock.after(delayMs, () => this.#clock.soon(() => this.#checkSilence()));
  }

  /**
   * The store answers, or there would be nothing to wait for. So a feed that delivers nothing at all for a long time is treated
   * as dead, although it has not reported an error. A timer decides this: if a failed read did, it would take one more.
   */
  #checkSilence(): void {
    this.#cancelCheck = null;
    if (this.#owedSinceMs === null || this.#feed.signal.aborted) return;
    const silentMs = this.#clock.monotonicMs() - this.#owedSinceMs;
    if (silentMs < this.#silenceMs) return this.#checkAfter(this.#silenceMs - silentMs);
    this.#silenceMs = Math.min(2 * this.#silenceMs, MAX_SILENCE_MS);
    this.#feed.abort(
      new BackendUnavailableError(
        `the feed has delivered nothing for ${Math.round(silentMs)} ms although the store answers; opening another`,
      ),
    );
  }

  #take({ kind, entries, revision }: FeedItem): void {
    if (kind === "snapshot" && revision < this.#progress) {
      throw new BackendUnavailableError(
        `the store shows revision ${revision} and has shown ${this.#progress} before; was it restored from a backup?`,
      );
    }
    this.#sink[kind](entries, revision);
    if (revision <= this.#progress) return;
    this.#progress = revision;
    if (this.#waiting.length === 0) return;
    const reached = this.#waiting.filter((each) => each.revision <= revision);
    this.#waiting = this.#waiting.filter((each) => each.revision > revision);
    for (const each of reached) each.resolve();
  }
}
