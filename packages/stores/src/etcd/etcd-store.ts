import {
  type CallOptions,
  type CasOp,
  type CasOutcome,
  checkBatch,
  ClosedError,
  type FeedItem,
  InvalidRequestError,
  type Revision,
  type Store,
  type StoreFeatures,
  type StoreLimits,
  MAX_KEY_LENGTH,
} from "@tenure/core";
import type { StoreOpener } from "../store-opener.js";
import { isRefusal, messageOf, unavailable } from "./failures.js";
import { EtcdFeed, type FeedSink } from "./feed.js";
import { Keyspace } from "./keyspace.js";
import { Members } from "./members.js";
import { checkOptions, type EtcdOptions, type EtcdStoreOptions } from "./options.js";
import { loadProtocol, type Protocol } from "./protocol.js";
import { readSnapshot } from "./snapshot.js";
import { encodeBatch } from "./txn-request.js";
import { Watch } from "./watch.js";
import { writeBatch } from "./writes.js";

/** A read may go to another member when the first does not answer. */
const READ_ATTEMPTS = 2;

const FEATURES: StoreFeatures = { shared: true, durable: true };

/**
 * The store on an etcd cluster, 3.4 or later. A batch is one transaction, with an inner one for each operation, and has one
 * revision; `sync` reads the revision of the last batch, linearizably; a feed is a snapshot and a watch from there on.
 *
 * It deletes nothing and compacts nothing: keeping etcd's history short is the operator's, as for every user of etcd.
 */
export class EtcdStore implements Store {
  readonly name = "etcd";
  readonly features: StoreFeatures = FEATURES;
  readonly limits: StoreLimits;
  readonly #protocol: Protocol;
  readonly #keyspace: Keyspace;
  readonly #members: Members;
  readonly #feeds = new Set<EtcdFeed>();
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  private constructor(options: EtcdOptions, protocol: Protocol) {
    this.limits = limitsOf(options);
    this.#protocol = protocol;
    this.#keyspace = new Keyspace(options.prefix);
    this.#members = new Members(options, protocol, this.#keyspace.head);
  }

  /** Throws `InvalidRequestError` if the options are wrong. */
  static opener(options: EtcdStoreOptions): StoreOpener {
    const limits = limitsOf(checkOptions(options));
    return { name: "etcd", features: FEATURES, limits, open: (call) => EtcdStore.open(options, call) };
  }

  /**
   * Throws `InvalidRequestError` if the options are wrong or etcd refuses the user, and `BackendUnavailableError` if
   * within some seconds no member answers and has a leader.
   */
  static async open(options: EtcdStoreOptions, { signal }: CallOptions = {}): Promise<EtcdStore> {
    const checked = checkOptions(options);
    const store = new EtcdStore(checked, await loadProtocol());
    try {
      await store.#members.connected(signal);
      return store;
    } catch (error) {
      await store.close();
      throw whyNotOpened(error);
    }
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    this.#admit(options);
    checkBatch(batch, this.limits);
    if (batch.length > this.limits.batchOps) {
      throw new InvalidRequestError(
        "batch",
        `has ${batch.length} operations, at most ${this.limits.batchOps} fit`,
      );
    }
    if (batch.length === 0) return [];
    return this.#track(this.#write(batch, options?.signal));
  }

  async sync(options?: CallOptions): Promise<Revision> {
    this.#admit(options);
    return this.#track(this.#readHead(options?.signal));
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return {
      [Symbol.asyncIterator]: () => {
        const feed: EtcdFeed = new EtcdFeed({
          open: (sink, signal) => {
            this.#feeds.add(feed);
            return this.#openFeed(sink, signal);
          },
          onEnd: () => this.#feeds.delete(feed),
          signal: options?.signal,
        });
        return feed;
      },
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
    this.#members.stop();
    for (const feed of this.#feeds) feed.fail(new ClosedError("the store is closed"));
    await Promise.allSettled(this.#underWay);
    await this.#members.close();
  }

  #admit(options?: CallOptions): void {
    if (this.#closing !== null) throw new ClosedError("the store is closed");
    options?.signal?.throwIfAborted();
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  async #write(batch: readonly CasOp[], signal: AbortSignal | undefined): Promise<CasOutcome[]> {
    const requests = encodeBatch(batch, this.#keyspace);
    const connection = await this.#members.connected(signal);
    // Up to here nothing was sent.
    signal?.throwIfAborted();
    return writeBatch(connection, this.#protocol, this.#keyspace, requests, signal);
  }

  /**
   * The revision of the last batch, not of etcd: that one rises with every key that anybody writes, and an open feed would
   * wait for it in vain.
   */
  async #readHead(signal: AbortSignal | undefined): Promise<Revision> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#members.connected(signal);
      try {
        const { kvs } = await connection.ask(this.#protocol.range, { key: this.#keyspace.head }, { signal });
        return kvs[0]?.mod_revision ?? 0;
      } catch (cause) {
        signal?.throwIfAborted();
        if (attempt === READ_ATTEMPTS) throw unavailable(cause);
      }
    }
  }

  async #openFeed(sink: FeedSink, signal: AbortSignal): Promise<Watch> {
    const connection = await this.#members.connected(signal);
    try {
      const snapshot = await readSnapshot(connection, this.#protocol, this.#keyspace, signal);
      sink.onSnapshot(snapshot);
      return new Watch({ connection, keyspace: this.#keyspace, snapshot, ...sink });
    } catch (cause) {
      throw unavailable(cause);
    }
  }
}

/** Leaves room for the key, which a request names three times; the request itself is checked as well. */
const VALUE_BYTES = 1_400_000;

/**
 * One place is the head's, and etcd takes one off for the depth of the inner transactions. Four batches at once were
 * fastest on three members; more only wait for each other.
 */
function limitsOf({ maxTxnOps }: EtcdOptions): StoreLimits {
  return { batchOps: maxTxnOps - 2, batchesInFlight: 4, keyLength: MAX_KEY_LENGTH, valueBytes: VALUE_BYTES };
}

/** What every member would say again, whenever it is asked, is the caller's to mend. */
function whyNotOpened(error: unknown): unknown {
  const { cause } = error as Error;
  const reasons: readonly unknown[] = cause instanceof AggregateError ? (cause.errors as unknown[]) : [];
  const invalid = reasons.find((reason) => reason instanceof InvalidRequestError);
  if (invalid !== undefined) return invalid;
  const refusal = reasons.find(isRefusal);
  if (refusal === undefined) return error;
  return new InvalidRequestError("user", `is refused by etcd: ${messageOf(refusal)}`, { cause: refusal });
}
