/** Follows the store's feed for as long as it lives: hands on each entry, knows how far it has come, opens a new feed when one breaks. */
import { type Clock, sleep } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";
import { onAbort } from "../on-abort.js";
import type { Entry, FeedItem, Revision, Store } from "../store/store.js";

interface Waiting {
  readonly revision: Revision;
  readonly resolve: () => void;
}

const FIRST_RETRY_MS = 10;
const LONGEST_RETRY_MS = 1000;

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
  #waiting: Waiting[] = [];
  #progress: Revision = 0;
  #broken: unknown = null;
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
    await this.#done;
  }

  /** Why there is no feed just now; `null` while there is one. */
  get broken(): unknown {
    return this.#broken;
  }

  /** Resolves when everything at or below `revision` has been handed on. */
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
      const stopListening = onAbort(signal, abort);
      this.#waiting.push(waiting);
    });
  }

  async #follow(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!this.#stop.signal.aborted) {
      try {
        for await (const item of this.#store.feed({ signal: this.#stop.signal })) {
          this.#take(item);
          this.#broken = null;
          retryMs = FIRST_RETRY_MS;
        }
        throw new BackendUnavailableError("the feed ended without a reason");
      } catch (error) {
        this.#broken = error;
      }
      await sleep(this.#clock, retryMs, this.#stop.signal).catch(() => {});
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    }
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
