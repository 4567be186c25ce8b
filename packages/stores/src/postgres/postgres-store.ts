import {
  type CallOptions,
  type CasOp,
  type CasOutcome,
  checkBatch,
  ClosedError,
  type FeedItem,
  InvalidRequestError,
  onAbort,
  type Revision,
  type Store,
  type StoreFeatures,
  type StoreLimits,
  MAX_KEY_LENGTH,
} from "@tenure/core";
import type { StoreOpener } from "../store-opener.js";
import { loadPg, Servers, type SessionSource } from "./connection.js";
import { isUndone, isWrongServer, unavailable } from "./failures.js";
import { type Changes, type FeedSource, PostgresFeed } from "./feed.js";
import { prepareSchema } from "./migration.js";
import { checkOptions, type PostgresConfig, type PostgresStoreOptions, READERS } from "./options.js";
import { namesOf, type SchemaNames } from "./schema.js";
import type { Session } from "./session.js";
import { SessionPool } from "./session-pool.js";
import { SharedPool } from "./shared-pool.js";
import { WakeUp } from "./wake-up.js";
import { highest, sendBatch } from "./writes.js";

/**
 * Writers come one after the other in the server, each for as long as its commit takes. So a second batch on its way would
 * only wait there; gathered here meanwhile, it grows, and the cost of a batch is shared by more.
 */
const LIMITS: StoreLimits = {
  batchOps: 512,
  batchesInFlight: 1,
  keyLength: MAX_KEY_LENGTH,
  valueBytes: 2 ** 22,
};

const FEATURES: StoreFeatures = { shared: true, durable: true };

/**
 * The store in a schema of a PostgreSQL database. A lease is a row, never a session or a lock that outlives a statement:
 * it works behind a pooler in transaction mode, where a feed looks for changes at intervals instead of being told.
 *
 * All writers take turns by an advisory lock of one transaction, so revisions are committed, and seen, in their order. A
 * batch is one call of a procedure, which commits before it answers. Whatever `synchronous_commit` says, a commit waits
 * at least for the disk, and for the synchronous standbys if there are any.
 *
 * A server that is read-only (a standby) is never used, for `sync` as little as for writes. Given several, the one that
 * accepts writes is found by itself, also after a failover. What a failover keeps is up to the database: only with
 * synchronous replication is every acknowledged write there afterwards. This process notices if the revision it was shown
 * last is gone: it then refuses that server, rather than go back. It cannot notice what it never saw, nor that another
 * server has become the primary while the old one still accepts writes; keep the old one from that, as every failover
 * manager does.
 */
export class PostgresStore implements Store {
  readonly name = "postgres";
  readonly features: StoreFeatures = FEATURES;
  readonly limits: StoreLimits = LIMITS;
  readonly #config: PostgresConfig;
  readonly #names: SchemaNames;
  readonly #servers: SessionSource;
  readonly #writers: SessionPool;
  readonly #readers: SessionPool;
  readonly #wakeUp: WakeUp;
  readonly #feeds = new Set<PostgresFeed>();
  readonly #source: FeedSource;
  /** The highest revision that this process was shown. */
  #seen: Revision = 0;
  #closing: Promise<void> | null = null;

  private constructor(config: PostgresConfig, servers: SessionSource) {
    const connect = async (signal: AbortSignal) => (await servers.connect(signal)).session;
    this.#config = config;
    this.#names = namesOf(config.schema);
    this.#servers = servers;
    this.#writers = new SessionPool(config.poolSize, connect);
    this.#readers = new SessionPool(READERS, connect);
    this.#wakeUp = new WakeUp(this.#readers, this.#names);
    this.#source = this.#feedSource();
  }

  /** Throws `InvalidRequestError` if the options are wrong. */
  static opener(options: PostgresStoreOptions): StoreOpener {
    checkOptions(options);
    return {
      name: "postgres",
      features: FEATURES,
      limits: LIMITS,
      open: (call) => PostgresStore.open(options, call),
    };
  }

  /**
   * Throws `InvalidRequestError` if an option is wrong, the server refuses the user, or the schema cannot be used, and
   * `BackendUnavailableError`, within 5 s, if no server can be reached that accepts writes.
   */
  static async open(
    options: PostgresStoreOptions,
    { signal = new AbortController().signal }: CallOptions = {},
  ): Promise<PostgresStore> {
    const config = checkOptions(options);
    const { pool } = config;
    const servers = pool === undefined ? new Servers(await loadPg(), config) : new SharedPool(pool);
    let stopListening = (): void => {};
    const connect = async (): Promise<Session> => {
      const { session } = await servers.connect(signal);
      stopListening();
      stopListening = onAbort(signal, () => session.destroy());
      return session;
    };
    try {
      const session = await prepareSchema(config, connect);
      signal.throwIfAborted();
      const store = new PostgresStore(config, servers);
      store.#readers.add(session);
      return store;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof InvalidRequestError) throw error;
      throw unavailable("the store cannot be opened", error);
    } finally {
      stopListening();
    }
  }

  async compareAndSet(batch: readonly CasOp[], { signal }: CallOptions = {}): Promise<CasOutcome[]> {
    this.#admit(signal);
    checkBatch(batch, this.limits);
    if (batch.length === 0) return [];
    const session = await this.#acquire(this.#writers, signal);
    try {
      return await this.#writers.run(session, () => this.#write(session, batch), signal);
    } catch (error) {
      if (isUndone(error)) throw unavailable("nothing was written", error);
      return batch.map(() => ({ kind: "uncertain", cause: error }));
    }
  }

  async sync({ signal }: CallOptions = {}): Promise<Revision> {
    this.#admit(signal);
    const session = await this.#acquire(this.#readers, signal);
    try {
      return await this.#readers.run(session, () => this.#head(session), signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw unavailable("the store did not answer", error);
    }
  }

  feed({ signal }: CallOptions = {}): AsyncIterable<FeedItem> {
    return { [Symbol.asyncIterator]: () => new PostgresFeed(this.#source, signal) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const reason = new ClosedError("the store is closed");
    const feeds = [...this.#feeds].map((feed) => feed.stop(reason));
    await Promise.all([...feeds, this.#writers.close()]);
    await this.#readers.close();
  }

  #admit(signal?: AbortSignal): void {
    if (this.#closing !== null) throw new ClosedError("the store is closed");
    signal?.throwIfAborted();
  }

  /** Until it is there, nothing has been sent. */
  async #acquire(pool: SessionPool, signal: AbortSignal | undefined): Promise<Session> {
    const session = await pool.acquire(signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw unavailable("the store cannot be reached", error);
    });
    if (signal?.aborted !== true && session.isUsable) return session;
    pool.release(session);
    signal?.throwIfAborted();
    return this.#acquire(pool, signal);
  }

  /** Goes on when nobody waits for it any more: what was written is to be told all the same. */
  async #write(session: Session, batch: readonly CasOp[]): Promise<CasOutcome[]> {
    const outcomes = await this.#ask(session, () => sendBatch(session, this.#names, batch, this.#seen));
    this.#learn(highest(outcomes));
    const written = outcomes.find((outcome) => outcome.kind === "swapped");
    if (written !== undefined) this.#wakeUp.send(written.revision);
    return outcomes;
  }

  async #head(session: Session): Promise<Revision> {
    const text = `SELECT ${this.#names.schema}.head($1)`;
    const { rows } = await this.#ask(session, () => session.query(text, [this.#seen]));
    return this.#learn(Number(rows[0]?.[0]));
  }

  async #changes(session: Session, since: Revision): Promise<Changes> {
    const text = `SELECT key, value, revision FROM ${this.#names.schema}.changes($1, $2)`;
    const { rows } = await this.#ask(session, () => session.query(text, [since, this.#seen]));
    const entries = rows.map(([key, value, revision]) => {
      return { key: key ?? "", value: value ?? "", revision: Number(revision) };
    });
    const head = entries.shift();
    return { entries, revision: head?.revision ?? 0 };
  }

  async #ask<T>(session: Session, send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (isWrongServer(error)) this.#servers.avoid(session);
      throw error;
    }
  }

  /** Feeds of this process need not wait to be told by the server. */
  #learn(revision: Revision): Revision {
    if (revision > this.#seen) {
      this.#seen = revision;
      for (const feed of this.#feeds) feed.wake(revision);
    }
    return revision;
  }

  #feedSource(): FeedSource {
    return {
      pollMs: this.#config.pollMs,
      listen: this.#config.listen,
      channel: this.#names.channel,
      join: (feed) => {
        this.#admit();
        this.#feeds.add(feed);
      },
      leave: (feed) => this.#feeds.delete(feed),
      connect: (signal) => this.#servers.connect(signal),
      read: (session, since) => this.#changes(session, since),
      learn: (revision) => this.#learn(revision),
    };
  }
}
