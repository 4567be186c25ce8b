import {
  BackendUnavailableError,
  type CallOptions,
  type CasOp,
  type CasOutcome,
  type FeedSink,
  type Revision,
  type StoreDriver,
  type StoreFeatures,
  type StoreLimits,
  type StoreManifest,
  type WriteCall,
  systemClock,
} from "@tenure/core";
import { DriverStore, MAX_KEY_LENGTH, unlessAborted, within } from "@tenure/core/internal";
import type { StoreOpener } from "../store-opener.js";
import { Bucket } from "./bucket.js";
import { OwnConnection } from "./own-connection.js";
import type { Connection, ConnectionSource, NatsStatus } from "./connection.js";
import { Mirror } from "./mirror.js";
import { checkOptions, type NatsOptions, type NatsStoreOptions } from "./options.js";
import { SharedConnection } from "./shared-connection.js";
import { writeBatch } from "./writes.js";

/** Timeout of every call, for callers without a shorter one. */
const CALL_MS = 5000;

/** A value, its headers and the name of its key make one message, of at most 1 MiB unless `max_payload` is raised. */
const MANIFEST: StoreManifest = {
  name: "nats",
  features: { shared: true, durable: true },
  limits: { batchOps: 256, batchesInFlight: 4, keyLength: MAX_KEY_LENGTH, valueBytes: 1_000_000 },
};

/**
 * The store in a key-value bucket of NATS JetStream, for any server from 2.9 on. A revision is a sequence number of the
 * bucket's stream. `nats kv ls`, `get` and `watch` show the entries; no other program may write into the bucket.
 *
 * **The server decides what an acknowledgement is worth.** By default nats-server flushes to disk only every two minutes, so
 * a loss of power takes back acknowledged writes, also those of a replicated bucket if it hits a majority at once.
 * `sync_interval: always` in its `jetstream` block (from 2.10 on) makes them durable.
 *
 * **Replication is as good as the server's version.** Before 2.9.21 a replicated bucket compares wrongly, and is refused.
 * Much later versions still lose acknowledged writes when one server fails soon after another has come back; see the tests.
 *
 * The stream must never be purged or removed: that would take back terms.
 */
export class NatsStore extends DriverStore {
  readonly #driver: NatsDriver;

  private constructor(driver: NatsDriver) {
    super(driver);
    this.#driver = driver;
  }

  /** Throws `InvalidRequestError` if the options are wrong. */
  static opener(options: NatsStoreOptions): StoreOpener {
    const checked = checkOptions(options);
    return { ...MANIFEST, open: async ({ signal }) => new NatsStore(await NatsDriver.open(checked, signal)) };
  }

  /**
   * Rejects with `InvalidRequestError` for wrong options, a bucket whose settings are not safe or that is missing and may
   * not be created, and a server without JetStream; with `BackendUnavailableError` if no server answers.
   */
  static async open(options: NatsStoreOptions, { signal }: CallOptions = {}): Promise<NatsStore> {
    return new NatsStore(await NatsDriver.open(checkOptions(options), signal));
  }

  /** Version of the server that the store is connected to; empty without a connection. */
  get serverVersion(): string {
    const { connections } = this.#driver;
    return connections.status === "connected" ? connections.current().version : "";
  }

  /** Number of servers that keep each entry. */
  get replicas(): number {
    return this.#driver.bucket.replicas;
  }

  /** Without a connection every call is refused at once. */
  get status(): NatsStatus {
    return this.#driver.connections.status;
  }

  /** Calls `listener` at each change of `status`, until the returned function is called. */
  onStatus(listener: (status: NatsStatus) => void): () => void {
    return this.#driver.connections.onStatus(listener);
  }
}

class NatsDriver implements StoreDriver {
  readonly name: string = MANIFEST.name;
  readonly features: StoreFeatures = MANIFEST.features;
  readonly limits: StoreLimits = MANIFEST.limits;
  readonly connections: ConnectionSource;
  readonly bucket: Bucket;
  #mirror: Mirror | null = null;
  #barrier: Promise<Revision> | null = null;
  /** The highest revision that was acknowledged to this store. */
  #highest: Revision = 0;

  private constructor(connections: ConnectionSource, bucket: Bucket) {
    this.connections = connections;
    this.bucket = bucket;
  }

  static async open(options: NatsOptions, signal: AbortSignal | undefined): Promise<NatsDriver> {
    const shared = options.connection;
    const connections =
      shared === undefined ? await OwnConnection.open(options, signal) : await SharedConnection.open(shared);
    try {
      const bucket = await unlessAborted(signal, Bucket.open(connections, options, signal));
      return new NatsDriver(connections, bucket);
    } catch (error) {
      await connections.close();
      throw error;
    }
  }

  async write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    const connection = this.connections.current();
    const outcomes = await inTime(call.signal, (signal) =>
      writeBatch(batch, {
        connection,
        bucket: this.bucket,
        known: this.#mirror,
        look: (until) => this.#upToDate(until),
        call,
        signal,
      }),
    );
    for (const outcome of outcomes) {
      if (outcome.kind === "swapped") this.#learn(outcome.revision);
    }
    return outcomes;
  }

  async head(signal: AbortSignal | undefined): Promise<Revision> {
    const connection = this.connections.current();
    return inTime(signal, (until) => this.#writeBarrier(connection, until));
  }

  async follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    const mirror = await inTime(signal, (until) => this.#upToDate(until));
    mirror.join(sink, signal);
  }

  /** Writes in flight may still need the mirror. */
  async close(idle: Promise<void>): Promise<void> {
    await idle;
    this.#mirror?.end(new Error("the store is being closed"));
    await this.connections.close();
  }

  /** A mirror with everything that was acknowledged before the call. */
  async #upToDate(signal: AbortSignal): Promise<Mirror> {
    const mirror = this.#presentMirror();
    const revision = await unlessAborted(signal, this.#nextBarrier());
    await unlessAborted(signal, mirror.reached(revision));
    return mirror;
  }

  #presentMirror(): Mirror {
    if (this.#mirror === null || this.#mirror.isEnded) {
      const barrier = (): Promise<Revision> => this.#nextBarrier();
      this.#mirror = new Mirror({ connection: this.connections.current(), bucket: this.bucket, barrier });
    }
    return this.#mirror;
  }

  /** One barrier for all callers of the same turn: the losers of a race are many, and come together. */
  #nextBarrier(): Promise<Revision> {
    this.#barrier ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#barrier = null;
        this.#writeBarrier().then(resolve, reject);
      });
    });
    return this.#barrier;
  }

  async #writeBarrier(
    connection: Connection = this.connections.current(),
    signal?: AbortSignal,
  ): Promise<Revision> {
    const before = this.#highest;
    const revision = await this.bucket.barrier(connection, { limitMs: CALL_MS, signal });
    if (revision <= before) {
      this.bucket.unlearn();
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

function inTime<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = (): Error => new BackendUnavailableError(`NATS took more than ${CALL_MS} ms`);
  return within(systemClock, { limitMs: CALL_MS, signal, late }, work);
}

function wentBack(revision: Revision, before: Revision): BackendUnavailableError {
  const message = `NATS gave out revision ${revision} after ${before}: it has lost writes, or the stream was replaced`;
  return new BackendUnavailableError(message);
}
