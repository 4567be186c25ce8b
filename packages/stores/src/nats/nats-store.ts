import {
  BackendUnavailableError,
  type CallOptions,
  type CasOp,
  type CasOutcome,
  checkBatch,
  ClosedError,
  type FeedItem,
  type Revision,
  type Store,
  type StoreFeatures,
  type StoreLimits,
  unlessAborted,
  MAX_KEY_LENGTH,
} from "@tenure/core";
import type { StoreOpener } from "../store-opener.js";
import { Bucket } from "./bucket.js";
import { Connection } from "./connection.js";
import { OpeningFeed } from "./feed.js";
import { FollowingController } from "./following-controller.js";
import type { Link, LinkSource, NatsStatus } from "./link.js";
import { Mirror } from "./mirror.js";
import { checkNatsOptions, type NatsStoreOptions } from "./options.js";
import { SharedConnection } from "./shared-connection.js";
import { writeBatch } from "./writes.js";

/** A call that has waited so long ends by itself; whoever is in a hurry gives a signal. */
const CALL_MS = 5000;
/** A value, its headers and the name of its key make one message, of at most 1 MiB unless `max_payload` says otherwise. */
const LIMITS: StoreLimits = {
  batchOps: 256,
  batchesInFlight: 4,
  keyLength: MAX_KEY_LENGTH,
  valueBytes: 1_000_000,
};

const FEATURES: StoreFeatures = { shared: true, durable: true };

/**
 * The store in a key-value bucket of NATS JetStream, for any server from 2.9 on. A revision is a sequence number of the
 * bucket's stream. `nats kv ls`, `get` and `watch` show what is in it; nothing else may write into it.
 *
 * **What an acknowledgement is worth is the server's choice.** By default nats-server tells the kernel to flush to disk
 * only now and then (every two minutes), so a loss of power takes back acknowledged writes, of a replicated bucket too
 * if it hits a majority at once. `sync_interval: always` in its `jetstream` block (from 2.10 on) makes them last.
 *
 * **Replication is as good as the server's version.** Before 2.9.21 a replicated bucket compares wrongly, and is refused.
 * Long after, servers lose acknowledged writes when one fails soon after another has come back; see the tests.
 *
 * Nobody may purge the stream or remove it: that would take back terms.
 */
export class NatsStore implements Store {
  readonly name = "nats";
  readonly features: StoreFeatures = FEATURES;
  readonly limits: StoreLimits = LIMITS;
  readonly #connection: LinkSource;
  readonly #bucket: Bucket;
  readonly #calls = new Set<Promise<unknown>>();
  #mirror: Mirror | null = null;
  #barrier: Promise<Revision> | null = null;
  #closing: Promise<void> | null = null;
  /** The highest revision that was acknowledged to us. */
  #highest: Revision = 0;

  private constructor(connection: LinkSource, bucket: Bucket) {
    this.#connection = connection;
    this.#bucket = bucket;
  }

  /** Throws `InvalidRequestError` if the options are wrong. */
  static opener(options: NatsStoreOptions): StoreOpener {
    checkNatsOptions(options);
    return {
      name: "nats",
      features: FEATURES,
      limits: LIMITS,
      open: (call) => NatsStore.open(options, call),
    };
  }

  /**
   * Throws `InvalidRequestError` for options that cannot be right, a bucket whose settings are not safe or that is
   * missing and may not be made, and a server without JetStream; `BackendUnavailableError` if no server answers.
   */
  static async open(options: NatsStoreOptions, { signal }: CallOptions = {}): Promise<NatsStore> {
    const checked = checkNatsOptions(options);
    const shared = checked.connection;
    const connection =
      shared === undefined ? await Connection.open(checked, signal) : await SharedConnection.open(shared);
    try {
      return new NatsStore(connection, await unlessAborted(signal, Bucket.open(connection, checked, signal)));
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Of the server connected to just now; empty without one. */
  get serverVersion(): string {
    return this.#connection.status === "connected" ? this.#connection.link().version : "";
  }

  /** How many servers keep each entry. */
  get replicas(): number {
    return this.#bucket.replicas;
  }

  /** Whether there is a connection just now. Without one every call is refused at once. */
  get status(): NatsStatus {
    return this.#connection.status;
  }

  /** Tells of each change of `status`, until the function that it returns is called. */
  onStatus(listener: (status: NatsStatus) => void): () => void {
    return this.#connection.onStatus(listener);
  }

  async compareAndSet(batch: readonly CasOp[], options: CallOptions = {}): Promise<CasOutcome[]> {
    const link = this.#admit(options);
    checkBatch(batch, this.limits);
    if (batch.length === 0) return [];
    const outcomes = await this.#within(options, (signal) =>
      writeBatch(batch, {
        link,
        bucket: this.#bucket,
        known: this.#mirror,
        look: (until) => this.#upToDate(until),
        signal,
      }),
    );
    for (const outcome of outcomes) {
      if (outcome.kind === "swapped") this.#learn(outcome.revision);
    }
    return outcomes;
  }

  async sync(options: CallOptions = {}): Promise<Revision> {
    const link = this.#admit(options);
    return this.#within(options, (signal) => this.#writeBarrier(link, signal));
  }

  feed(options: CallOptions = {}): AsyncIterable<FeedItem> {
    return {
      [Symbol.asyncIterator]: () =>
        new OpeningFeed(async (signal) => {
          this.#admit({ signal });
          const mirror = await this.#within({ signal }, (until) => this.#upToDate(until));
          if (this.#closing !== null) throw closed();
          return mirror.feed({ signal });
        }, options),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // Feeds at once, and those that are being opened; writes are waited for, and may need the mirror yet.
    this.#mirror?.endFeeds(closed());
    await Promise.allSettled(this.#calls);
    this.#mirror?.end(closed());
    await this.#connection.close();
  }

  #admit({ signal }: CallOptions): Link {
    if (this.#closing !== null) throw closed();
    signal?.throwIfAborted();
    return this.#connection.link();
  }

  /** Bounds a call, and lets `close` wait for it. */
  async #within<T>({ signal }: CallOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = new FollowingController(signal);
    const timer = setTimeout(() => end.abort(tooLong()), CALL_MS);
    const call = work(end.signal);
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      clearTimeout(timer);
      end.release();
      this.#calls.delete(call);
    }
  }

  /** A mirror in which everything is that was acknowledged before the call. */
  async #upToDate(signal: AbortSignal): Promise<Mirror> {
    const mirror = this.#presentMirror();
    const revision = await unlessAborted(signal, this.#nextBarrier());
    await mirror.reached(revision, signal);
    return mirror;
  }

  #presentMirror(): Mirror {
    if (this.#mirror === null || this.#mirror.isEnded) {
      const barrier = (): Promise<Revision> => this.#nextBarrier();
      this.#mirror = new Mirror({ link: this.#connection.link(), bucket: this.#bucket, barrier });
    }
    return this.#mirror;
  }

  /** One for all who ask in the same turn: the losers of a race are many, and come together. */
  #nextBarrier(): Promise<Revision> {
    this.#barrier ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#barrier = null;
        this.#writeBarrier().then(resolve, reject);
      });
    });
    return this.#barrier;
  }

  async #writeBarrier(link: Link = this.#connection.link(), signal?: AbortSignal): Promise<Revision> {
    const before = this.#highest;
    const revision = await this.#bucket.barrier(link, { limitMs: CALL_MS, signal });
    if (revision <= before) {
      this.#bucket.unlearn();
      throw wentBack(revision, before);
    }
    this.#learn(revision);
    return revision;
  }

  #learn(acknowledged: Revision): void {
    this.#highest = Math.max(this.#highest, acknowledged);
    this.#mirror?.expect(acknowledged);
  }
}

function closed(): ClosedError {
  return new ClosedError("the store is closed");
}

function wentBack(revision: Revision, before: Revision): BackendUnavailableError {
  const message = `NATS gave out revision ${revision} after ${before}: it has lost writes, or the stream was replaced`;
  return new BackendUnavailableError(message);
}

function tooLong(): BackendUnavailableError {
  return new BackendUnavailableError(`NATS took more than ${CALL_MS} ms`);
}
