/**
 * Passes the changes of a store that keeps all entries in memory on to its feeds. The driver publishes each write once; each
 * feed gets a snapshot and then the changes, without a gap because both happen in one turn of the event loop.
 */
import { onAbort } from "../async/on-abort.js";
import type { FeedSink } from "./driver.js";
import type { Entry, Revision } from "./store.js";

export interface Snapshot {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
}

export class FeedHub {
  readonly #snapshot: () => Snapshot;
  readonly #sinks = new Set<FeedSink>();
  #revision: Revision = 0;

  /** `snapshot` is called for each feed that joins; an error that it throws is thrown by `join`. */
  constructor(snapshot: () => Snapshot) {
    this.#snapshot = snapshot;
  }

  /** The number of open feeds. */
  get size(): number {
    return this.#sinks.size;
  }

  /** Delivers the snapshot now and every later change, until `signal` is aborted. */
  join(sink: FeedSink, signal: AbortSignal): void {
    signal.throwIfAborted();
    const { entries, revision } = this.#snapshot();
    sink.snapshot(entries, revision);
    this.#sinks.add(sink);
    onAbort(signal, () => this.#sinks.delete(sink));
  }

  /**
   * Delivers changes to every open feed. `entries` in revision order, all above what was published before and at or below
   * `revision`; those of one batch may share one. The array is passed on as it is and must not change afterwards.
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
    for (const sink of this.#sinks) sink.changes(entries, revision);
  }

  /** Ends every open feed with `reason`. Feeds that join later are not affected. */
  fail(reason: unknown): void {
    for (const sink of this.#sinks) sink.fail(reason);
  }
}
