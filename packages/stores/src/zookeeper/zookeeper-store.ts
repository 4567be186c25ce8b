import {
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
  MAX_KEY_LENGTH,
} from "@tenure/core";
import type { StoreOpener } from "../store-opener.js";
import { abortable, giveUp } from "./abortable.js";
import { Ensemble } from "./ensemble.js";
import { OpeningFeed } from "./feed.js";
import { checkOptions, type ZookeeperStoreOptions } from "./options.js";
import { VersionBook } from "./version-book.js";
import { readTlsFiles } from "./wire/socket.js";
import { BatchWrite } from "./writes.js";

/** How long what is in flight may keep `close` waiting. */
const LONGEST_CLOSE_MS = 5000;
/**
 * Larger batches or more of them raise the rate no further, and only wait longer. A value and its path make one request,
 * of at most 1 MiB unless `jute.maxbuffer` says otherwise; the server drops the connection of a longer one.
 */
const LIMITS: StoreLimits = {
  batchOps: 256,
  batchesInFlight: 4,
  keyLength: MAX_KEY_LENGTH,
  valueBytes: 1_000_000,
};

const FEATURES: StoreFeatures = { shared: true, durable: true };

/**
 * The store in a ZooKeeper ensemble, 3.6 or newer. Each key is a node of its own; its revision is the node's `mzxid`.
 *
 * Everything goes over one session: writes, reads, and the events of the feeds. A session lives as long as its
 * connection. When that is lost, what was under way is uncertain, the feeds end, and the next call makes another one.
 */
export class ZookeeperStore implements Store {
  readonly name = "zookeeper";
  readonly features: StoreFeatures = FEATURES;
  readonly limits: StoreLimits = LIMITS;
  readonly #book = new VersionBook();
  readonly #ensemble: Ensemble;
  readonly #calls = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  private constructor(ensemble: (book: VersionBook) => Ensemble) {
    this.#ensemble = ensemble(this.#book);
  }

  /** Throws `InvalidRequestError` if the options are wrong. */
  static opener(options: ZookeeperStoreOptions): StoreOpener {
    checkOptions(options);
    return {
      name: "zookeeper",
      features: FEATURES,
      limits: LIMITS,
      open: (call) => ZookeeperStore.open(options, call),
    };
  }

  /**
   * Throws `InvalidRequestError` naming the option, also if ZooKeeper refuses the user or is too old, and
   * `BackendUnavailableError` if no server can be used.
   */
  static async open(options: ZookeeperStoreOptions, { signal }: CallOptions = {}): Promise<ZookeeperStore> {
    const checked = checkOptions(options);
    if (checked.tls !== undefined) await readTlsFiles(checked.tls);
    const store = new ZookeeperStore((book) => new Ensemble(checked, book));
    try {
      await abortable(store.#ensemble.prepare(), signal, giveUp);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    return this.#call(async () => {
      this.#admit(options);
      checkBatch(batch, this.limits);
      const signal = options?.signal;
      const connection = await abortable(this.#ensemble.connection(), signal, giveUp);
      const write = new BatchWrite(connection, batch);
      return abortable(write.run(this.#book, signal), signal, (reason) => write.aborted(reason));
    });
  }

  sync(options?: CallOptions): Promise<Revision> {
    return this.#call(async () => {
      this.#admit(options);
      const barrier = this.#ensemble.connection().then((connection) => connection.barrier());
      return abortable(barrier, options?.signal, giveUp);
    });
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return {
      [Symbol.asyncIterator]: () => new OpeningFeed((signal) => this.#openFeed(signal), options),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Throws; so it is called within what turns that into a rejection. */
  #admit(options: CallOptions | undefined): void {
    if (this.#closing !== null) throw closed();
    options?.signal?.throwIfAborted();
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    const call = work();
    const done = (): boolean => this.#calls.delete(call);
    this.#calls.add(call);
    call.then(done, done);
    return call;
  }

  /** The snapshot comes after a barrier, so it contains all that was acknowledged before. */
  async #openFeed(signal: AbortSignal): Promise<AsyncIterable<FeedItem>> {
    this.#admit({ signal });
    const open = async (): Promise<AsyncIterable<FeedItem>> => {
      const connection = await this.#ensemble.connection();
      const { mirror } = connection;
      await mirror.reached(await connection.barrier());
      return mirror.hub.feed({ signal });
    };
    try {
      return await abortable(open(), signal, giveUp);
    } catch (error) {
      throw this.#closing === null ? error : closed();
    }
  }

  async #close(): Promise<void> {
    this.#ensemble.stop(closed());
    const tooLong = setTimeout(() => this.#ensemble.present?.session.destroy(), LONGEST_CLOSE_MS);
    await Promise.allSettled(this.#calls);
    clearTimeout(tooLong);
    await this.#ensemble.close();
  }
}

function closed(): ClosedError {
  return new ClosedError("the store is closed");
}
