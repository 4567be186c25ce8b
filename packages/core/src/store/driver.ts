/**
 * What the adapter of an engine implements. `storeOf` turns a driver into a `Store`: it checks batches, refuses calls after
 * `close`, ends the wait of a caller that aborts, decides which operations are uncertain, and serves feeds. So a driver only
 * writes, reads the head, follows and closes, and never has to answer a caller that no longer waits.
 */
import type { CasOp, CasOutcome, Entry, Revision, StoreManifest } from "./store.js";

export interface StoreDriver extends StoreManifest {
  /**
   * Writes one batch, which is not empty and has been checked against `limits`. Must call `call.begin()` before anything
   * that may take effect, and return one outcome per operation.
   *
   * A rejection before `begin` reaches the caller as it is. After `begin`, a rejection makes every operation without a
   * reported outcome uncertain, unless it is a `NothingWritten`. The promise must stay pending for as long as the write is
   * in flight, even if `call.signal` is aborted: `close` waits for it.
   */
  write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]>;

  /** The revision that `Store.sync` promises. A rejection reaches the caller as it is. */
  head(signal: AbortSignal | undefined): Promise<Revision>;

  /**
   * Serves one feed: one snapshot, then changes. Called once per feed. `signal` is aborted when the feed has ended for any
   * reason; the driver then releases what the feed used. A rejection breaks the feed. `close` and the end of the feed wait
   * for the promise, which may resolve earlier if later changes come from elsewhere.
   */
  follow(sink: FeedSink, signal: AbortSignal): Promise<void>;

  /**
   * Called once, after the last call was admitted and all feeds have ended. Calls that have not begun to write may be
   * rejected with any error: their callers get `ClosedError`. `idle` resolves when no call is in flight.
   */
  close(idle: Promise<void>): Promise<void>;
}

/** One `compareAndSet` on its way. */
export interface WriteCall {
  /** Aborted when the caller no longer waits. The caller is answered without the driver's help. */
  readonly signal: AbortSignal | undefined;
  /** From now on the batch may be written. Throws the signal's reason if the caller has gone: then nothing may be sent. */
  begin(): void;
  /** Reports the outcome of one operation before that of the whole batch is known. A later report replaces it. */
  answered(index: number, outcome: CasOutcome): void;
  /** The reported outcomes. Every operation without one is uncertain, for this cause. */
  outcomes(cause: unknown): CasOutcome[];
}

/** Where a driver delivers one feed. Calls after the end of the feed do nothing. */
export interface FeedSink {
  /** Every entry as of `revision`. Exactly once, before any changes. */
  snapshot(entries: readonly Entry[], revision: Revision): void;
  /**
   * Entries in revision order, all above what was delivered before and at or below `revision`. The array is kept, not
   * copied, and must not change afterwards.
   */
  changes(entries: readonly Entry[], revision: Revision): void;
  /** Ends the feed with its reason. */
  fail(reason: unknown): void;
  /** Resolves when the consumer waits for an item, or the feed has ended. For drivers that read on demand. */
  wanted(): Promise<void>;
}

/** Thrown by `write` after `begin`: nothing of the batch was or ever will be written. The caller gets `reason`. */
export class NothingWritten extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("nothing was written", { cause: reason });
    this.reason = reason;
  }

  override get name(): string {
    return "NothingWritten";
  }
}
