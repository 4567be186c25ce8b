import {
  type CasOp,
  type CasOutcome,
  type FeedSink,
  InvalidRequestError,
  type Revision,
  type StoreDriver,
  type StoreFeatures,
  type StoreLimits,
  type StoreManifest,
  storeOf,
  type WriteCall,
} from "@tenure/core";
import { MAX_KEY_LENGTH } from "@tenure/core/internal";
import { type StoreEngine, storeEngine } from "../store-opener.js";
import { isRefusal, messageOf, unavailable } from "./failures.js";
import { Keyspace } from "./keyspace.js";
import { Members } from "./members.js";
import { checkOptions, type EtcdOptions, type EtcdStoreOptions } from "./options.js";
import { loadProtocol, type Protocol } from "./protocol.js";
import { readSnapshot } from "./snapshot.js";
import { encodeBatch } from "./txn-request.js";
import { Watch } from "./watch.js";
import { writeBatch } from "./writes.js";

/** If the first member does not answer a read, the read goes to another one. */
const READ_ATTEMPTS = 2;
/** Leaves room for the key, which a request contains three times. The size of the request is checked as well. */
const VALUE_BYTES = 1_400_000;

/**
 * The store on an etcd cluster, 3.4 or later. A batch is one transaction, with an inner one for each operation, and has one
 * revision; `sync` is a linearizable read of the revision of the last batch; a feed is a snapshot and a watch from there on.
 *
 * The store deletes nothing and compacts nothing: compaction stays with the operator, as for every user of etcd.
 */
export const EtcdStore: StoreEngine<EtcdStoreOptions> = storeEngine((options) => {
  const checked = checkOptions(options);
  const manifest = manifestOf(checked);
  return {
    ...manifest,
    open: async ({ signal }) => storeOf(await EtcdDriver.open(checked, manifest, signal)),
  };
});

/**
 * One place of a transaction is taken by the head key, and etcd takes one off for the depth of the inner transactions. Four
 * batches in flight were fastest on three members; more only wait for each other.
 */
function manifestOf({ maxTxnOps }: EtcdOptions): StoreManifest {
  return {
    name: "etcd",
    features: { shared: true, durable: true },
    limits: {
      batchOps: maxTxnOps - 2,
      batchesInFlight: 4,
      keyLength: MAX_KEY_LENGTH,
      valueBytes: VALUE_BYTES,
    },
  };
}

class EtcdDriver implements StoreDriver {
  readonly name: string;
  readonly features: StoreFeatures;
  readonly limits: StoreLimits;
  readonly #protocol: Protocol;
  readonly #keyspace: Keyspace;
  readonly #members: Members;

  private constructor(options: EtcdOptions, { name, features, limits }: StoreManifest, protocol: Protocol) {
    this.name = name;
    this.features = features;
    this.limits = limits;
    this.#protocol = protocol;
    this.#keyspace = new Keyspace(options.prefix);
    this.#members = new Members(options, protocol, this.#keyspace.head);
  }

  /**
   * Rejects with `InvalidRequestError` if etcd refuses the user, and with `BackendUnavailableError` if within some seconds no
   * member answers and has a leader.
   */
  static async open(
    options: EtcdOptions,
    manifest: StoreManifest,
    signal: AbortSignal | undefined,
  ): Promise<EtcdDriver> {
    const driver = new EtcdDriver(options, manifest, await loadProtocol());
    try {
      await driver.#members.connected(signal);
      return driver;
    } catch (error) {
      await driver.#members.close();
      throw whyNotOpened(error);
    }
  }

  async write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    const requests = encodeBatch(batch, this.#keyspace);
    const connection = await this.#members.connected(call.signal);
    call.begin();
    return writeBatch(connection, this.#protocol, this.#keyspace, requests, call);
  }

  /**
   * The revision of the last batch, not of etcd: that one rises with every key that any client writes, and an open feed
   * would never reach it.
   */
  async head(signal: AbortSignal | undefined): Promise<Revision> {
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

  async follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    const connection = await this.#members.connected(signal);
    try {
      const snapshot = await readSnapshot(connection, this.#protocol, this.#keyspace, signal);
      sink.snapshot(snapshot.entries, snapshot.revision);
      new Watch({ connection, keyspace: this.#keyspace, snapshot, sink, signal }).start();
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  async close(idle: Promise<void>): Promise<void> {
    this.#members.stop();
    await idle;
    await this.#members.close();
  }
}

/** An answer that every member would give again, at any time, is a mistake in the options. */
function whyNotOpened(error: unknown): unknown {
  const { cause } = error as Error;
  const reasons: readonly unknown[] = cause instanceof AggregateError ? (cause.errors as unknown[]) : [];
  const invalid = reasons.find((reason) => reason instanceof InvalidRequestError);
  if (invalid !== undefined) return invalid;
  const refusal = reasons.find(isRefusal);
  if (refusal === undefined) return error;
  return new InvalidRequestError("user", `is refused by etcd: ${messageOf(refusal)}`, { cause: refusal });
}
