/**
 * Serves the feeds of a store that lives in this process. The store publishes each write once; every feed gets a
 * snapshot and then the changes, joined without a gap because both happen in one turn of the event loop.
 *
 * A slow consumer gets several writes as one item. One that falls too far behind is ended with
 * `BackendUnavailableError`, so that it opens another feed and starts from a snapshot instead of filling the memory.
 */
import { FeedReader, type Snapshot } from "./feed-reader.js";
import type { CallOptions, Entry, FeedItem, Revision } from "./store.js";

export interface FeedHubOptions {
  /** How many changes may wait for one consumer. */
  readonly bufferedEntries?: number;
}

const BUFFERED_ENTRIES = 131_072;

export class FeedHub {
  readonly #snapshot: () => Omit<Snapshot, "kind">;
  readonly #bufferedEntries: number;
  readonly #readers = new Set<FeedReader>();
  #revision: Revision = 0;
  #closed: { readonly reason: unknown } | null = null;

  /** `snapshot` is called at the first `next()` of each feed; what it throws is what the feed throws. */
  constructor(snapshot: () => Omit<Snapshot, "kind">, options: FeedHubOptions = {}) {
    this.#snapshot = snapshot;
    this.#bufferedEntries = options.bufferedEntries ?? BUFFERED_ENTRIES;
  }

  /** How many feeds are open. */
  get size(): number {
    return this.#readers.size;
  }

  feed(options: CallOptions = {}): AsyncIterable<FeedItem> {
    return {
      [Symbol.asyncIterator]: () =>
        new FeedReader({
          join: (reader) => this.#join(reader),
          leave: (reader) => this.#readers.delete(reader),
          bufferedEntries: this.#bufferedEntries,
          signal: options.signal,
        }),
    };
  }

  /**
   * To every open feed. `entries` in revision order, all above what was published before and at or below `revision`;
   * those of one batch may share one. The array is handed on as it is and must not change afterwards.
   */
  publish(entries: readonly Entry[], revision: Revision): void {
    let last = this.#revision;
    for (const entry of entries) {
      if (entry.revision <= this.#revision || entry.revision < last) {
        throw new RangeError(`revision ${entry.revision} published after ${last}`);
      }
      last = entry.revision;
    }
    if (revision < last) throw new RangeError(`revision ${revision} published after ${last}`);
    this.#revision = revision;
    for (const reader of this.#readers) reader.push(entries, revision);
  }

  /** Ends every open feed; others may be opened. */
  breakFeeds(reason: unknown): void {
    for (const reader of this.#readers) reader.fail(reason);
  }

  /** Ends every open feed, and every later one at its first `next()`. */
  close(reason: unknown): void {
    this.#closed ??= { reason };
    this.breakFeeds(this.#closed.reason);
  }

  #join(reader: FeedReader): Snapshot {
    if (this.#closed !== null) throw this.#closed.reason;
    const snapshot = this.#snapshot();
    this.#readers.add(reader);
    return { kind: "snapshot", ...snapshot };
  }
}
