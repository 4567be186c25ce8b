/**
 * The lower port of Tenure: a small linearizable key-value store. Everything that Tenure must remember lives behind three
 * verbs, `compareAndSet`, `sync` and `feed`. Adapters for engines are in `@tenure/stores`; `memory-store.ts` is the one
 * without an engine.
 *
 * What a store promises:
 * - A write that was answered `swapped` is durable, and no other write to that key came between it and the revision it
 *   expected.
 * - Keys are never deleted. Revisions are positive safe integers from one counter for the whole prefix. Each successful
 *   write gets a higher revision than all writes before it, over restarts and failover, and no revision is used twice; only
 *   the writes of one batch may share one.
 * - A feed delivers a snapshot and then every change in revision order, and says up to which revision it has delivered
 *   everything.
 * - An uncertain outcome is reported as `uncertain`, never as success or failure.
 * What it does not promise: that a batch is atomic (each operation succeeds or fails by itself); that a feed shows every
 * value of a key (superseded values may be left out); an order between two calls that overlap; that a correct operation
 * succeeds (a store may refuse one without a cause). Callers must handle all four.
 *
 * Time: the contract has none. A store keeps no leases and expires nothing; electors store durations and count them on
 * their own clocks. So the clock of an engine's machine cannot end or lengthen a lease, and an engine needs no support for
 * ttls.
 *
 * How a write and a read go:
 * 1. `elector/engine.ts` decides a change and hands it to `elector/batcher.ts`, which sends what waits as one batch.
 *    `elector/keys.ts` names the keys: a record, a history and a member page for each group.
 * 2. `driver-store.ts` checks the batch (`check-batch.ts`) and passes it to the adapter's `StoreDriver` (`driver.ts`). It
 *    also does what is the same for every engine: aborts, closing, feeds (`feed.ts`), and deciding which operations are
 *    uncertain.
 * 3. The change comes back to every elector through its feed; `elector/feed-follower.ts` opens a new feed when one breaks.
 * 4. A linearizable read calls `sync`, waits until the feed has delivered that revision, and answers from memory
 *    (`elector/read-barrier.ts`).
 *
 * Limits are those of the engine: each store states them in `limits`, and a batch that exceeds them is refused before
 * anything is sent. A store that needs longer than a quarter of a ttl for a write cannot keep leases of that ttl.
 *
 * To write an adapter: implement `StoreDriver`, wrap it with `storeOf`, and run the suite in `conformance/store.ts` against
 * it. `testing/faulty-store.ts` makes any store fail in all ways that this contract allows. Read next: `driver.ts`,
 * `elector/store-elector.ts`.
 */
/** The version of an entry: higher is newer, over all keys. */
export type Revision = number;

export interface Entry {
  readonly key: string;
  readonly value: string;
  readonly revision: Revision;
}

/** Write `value` if the key's revision is still `expected`; `null`: if the key is absent. */
export interface CasOp {
  readonly key: string;
  readonly expected: Revision | null;
  readonly value: string;
}

export type CasOutcome =
  | { readonly kind: "swapped"; readonly revision: Revision }
  /**
   * Not written. `current` is the entry as of this operation, read linearizably, so at least as new as every write
   * acknowledged before the call. A store may refuse without a cause (`current` then shows the expected revision).
   */
  | { readonly kind: "conflict"; readonly current: Entry | null }
  /** Sent, and the answer was lost: it was written, was not, or still will be. Only `sync` and a read show which. */
  | { readonly kind: "uncertain"; readonly cause: unknown };

export type FeedItem =
  /** Always the first item: every key of the prefix, as of `revision`. */
  | { readonly kind: "snapshot"; readonly entries: readonly Entry[]; readonly revision: Revision }
  /** Changes in revision order. A key's superseded values may be left out. */
  | { readonly kind: "changes"; readonly entries: readonly Entry[]; readonly revision: Revision };

export interface CallOptions {
  /** Ends the wait; a request that was sent may still be carried out. @defaultValue none */
  readonly signal?: AbortSignal;
}

/** What a store is, apart from what it does. The conformance suite holds a store to what it states here. */
export interface StoreFeatures {
  /** The same data may be opened several times at once, also by several processes. */
  readonly shared: boolean;
  /** The data outlives the process that wrote it. */
  readonly durable: boolean;
}

/**
 * The largest requests that a store accepts. A batch that exceeds `batchOps`, `keyLength` or `valueBytes` is refused as a
 * whole, with `InvalidRequestError`, before anything of it is sent.
 */
export interface StoreLimits {
  /** Operations per batch. */
  readonly batchOps: number;
  /** Batches in flight at which the engine is fastest. Not enforced: the batcher sends no more. */
  readonly batchesInFlight: number;
  /** Characters (UTF-16 code units) per key; at most `MAX_KEY_LENGTH`. */
  readonly keyLength: number;
  /** Bytes of UTF-8 per value, as long as the engine has its default settings. */
  readonly valueBytes: number;
}

/** Room for every key of Tenure (a prefix and an id of 200 characters), within what every engine can index. */
export const MAX_KEY_LENGTH = 512;

/** What is known of a store before its engine answers. */
export interface StoreManifest {
  /** The engine's name, as in its URL. */
  readonly name: string;
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
}

export interface Store extends StoreManifest, AsyncDisposable {
  /**
   * Independent compare-and-sets: one round trip and one durable write for the whole batch, one outcome per
   * operation in its place; some may win and others not. A key is named once per batch, and a batch keeps to `limits`.
   *
   * `swapped` means durable: it survives the loss of power of this process and, on a replicated engine, of a
   * minority. Calls may overlap; two that overlap have no order.
   *
   * Rejects only if nothing of the batch was or ever will be written: with `InvalidRequestError`, with `ClosedError`,
   * with the signal's reason if it was aborted before anything was sent, or with `BackendUnavailableError`. In every
   * other failure, an abort after sending among them, each operation without an answer is `uncertain`.
   */
  compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]>;

  /**
   * Linearizable: every write acknowledged, by any process, before this call is at or below the revision returned.
   * So is every entry that a conflict has shown, and an open feed reaches it without another write.
   * Rejects with `BackendUnavailableError`, `ClosedError` or the signal's reason.
   */
  sync(options?: CallOptions): Promise<Revision>;

  /**
   * A snapshot, then each change in order, without end. Once an item has been delivered, everything at or below its
   * `revision` has been: for each key the last write up to it, or a later one. A store that leaves out superseded
   * values must therefore hold `revision` back until the later value of that key is delivered too.
   *
   * The snapshot contains every write acknowledged before the feed was opened. Several feeds may be open; each is on
   * its own. It ends by throwing its reason (`BackendUnavailableError` when broken: open another; the signal's reason;
   * `ClosedError`), never silently; a consumer that stops early ends it with `return()`.
   */
  feed(options?: CallOptions): AsyncIterable<FeedItem>;

  /** Idempotent. Waits for what is in flight, ends the feeds, releases what was held. */
  close(): Promise<void>;
}
