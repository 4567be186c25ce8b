import {
  type CasOp,
  type CasOutcome,
  type FeedSink,
  InvalidRequestError,
  NothingWritten,
  type Revision,
  type StoreDriver,
  type StoreFeatures,
  type StoreLimits,
  type StoreManifest,
  storeOf,
  type WriteCall,
} from "@tenure/core";
import { MAX_KEY_LENGTH, onAbort } from "@tenure/core/internal";
import { type StoreEngine, storeEngine } from "../store-opener.js";
import { loadPg, Servers, type SessionSource } from "./connection.js";
import { isUndone, isWrongServer, unavailable } from "./failures.js";
import { type Changes, Follower } from "./follower.js";
import { prepareSchema } from "./migration.js";
import { checkOptions, type PostgresConfig, type PostgresStoreOptions, READERS } from "./options.js";
import { namesOf, type SchemaNames } from "./schema.js";
import type { PostgresSession } from "./session.js";
import { SessionPool } from "./session-pool.js";
import { SharedPool } from "./shared-pool.js";
import { WakeUp } from "./wake-up.js";
import { highest, sendBatch } from "./writes.js";

/**
 * The server lets one writer commit at a time. A second batch in flight would only wait there; collected here meanwhile, it
 * grows, and more operations share the cost of a batch.
 */
const MANIFEST: StoreManifest = {
  name: "postgres",
  features: { shared: true, durable: true },
  limits: { batchOps: 512, batchesInFlight: 1, keyLength: MAX_KEY_LENGTH, valueBytes: 2 ** 22 },
};

/**
 * The store in a schema of a PostgreSQL database. A lease is a row, never a session or a lock that outlives a statement, so
 * the store works behind a pooler in transaction mode, where a feed polls for changes instead of listening.
 *
 * All writers take turns by an advisory lock of one transaction, so revisions are committed, and seen, in their order. A
 * batch is one call of a procedure, which commits before it answers. Whatever `synchronous_commit` says, a commit waits
 * at least for the disk, and for the synchronous standbys if there are any.
 *
 * A server that is read-only (a standby) is never used, neither for writes nor for `sync`. Of several servers the store finds
 * the one that accepts writes, also after a failover. What a failover keeps is up to the database: only with synchronous
 * replication does every acknowledged write survive it. If the latest revision that this process has seen is gone, the store
 * refuses that server instead of going back. The store cannot notice the loss of revisions that it has not seen, nor that
 * another server has become the primary while the old one still accepts writes: the failover manager must prevent that.
 *
 * `open` rejects with `InvalidRequestError` if an option is wrong, the server refuses the user, or the schema cannot be used,
 * and within 5 s with `BackendUnavailableError` if no server can be reached that accepts writes.
 */
export const PostgresStore: StoreEngine<PostgresStoreOptions> = storeEngine((options) => {
  const config = checkOptions(options);
  return { ...MANIFEST, open: async ({ signal }) => storeOf(await PostgresDriver.open(config, signal)) };
});

class PostgresDriver implements StoreDriver {
  readonly name: string = MANIFEST.name;
  readonly features: StoreFeatures = MANIFEST.features;
  readonly limits: StoreLimits = MANIFEST.limits;
  readonly #config: PostgresConfig;
  readonly #names: SchemaNames;
  readonly #servers: SessionSource;
  readonly #writers: SessionPool;
  readonly #readers: SessionPool;
  readonly #wakeUp: WakeUp;
  readonly #followers = new Set<Follower>();
  /** The highest revision that this process has seen. */
  #seen: Revision = 0;

  private constructor(config: PostgresConfig, servers: SessionSource) {
    const connect = async (signal: AbortSignal) => (await servers.connect(signal)).session;
    this.#config = config;
    this.#names = namesOf(config.schema);
    this.#servers = servers;
    this.#writers = new SessionPool(config.poolSize, connect);
    this.#readers = new SessionPool(READERS, connect);
    this.#wakeUp = new WakeUp(this.#readers, this.#names);
  }

  static async open(
    config: PostgresConfig,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<PostgresDriver> {
    const { pool } = config;
    const servers = pool === undefined ? new Servers(await loadPg(), config) : new SharedPool(pool);
    let stopListening = (): void => {};
    const connect = async (): Promise<PostgresSession> => {
      const { session } = await servers.connect(signal);
      stopListening();
      stopListening = onAbort(signal, () => session.destroy());
      return session;
    };
    try {
      const session = await prepareSchema(config, connect);
      signal.throwIfAborted();
      const driver = new PostgresDriver(config, servers);
      driver.#readers.add(session);
      return driver;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof InvalidRequestError) throw error;
      throw unavailable("the store cannot be opened", error);
    } finally {
      stopListening();
    }
  }

  /** The write goes on when its caller has gone, so that feeds are woken. */
  async write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    const session = await acquire(this.#writers, call.signal);
    const send = async (): Promise<CasOutcome[]> => {
      call.begin();
      return this.#write(session, batch);
    };
    try {
      return await this.#writers.run(session, send, call.signal);
    } catch (error) {
      throw isUndone(error) ? new NothingWritten(unavailable("nothing was written", error)) : error;
    }
  }

  async head(signal: AbortSignal | undefined): Promise<Revision> {
    const session = await acquire(this.#readers, signal);
    try {
      return await this.#readers.run(session, () => this.#head(session), signal);
    } catch (error) {
      throw unavailable("the store did not answer", error);
    }
  }

  async follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    const follower = new Follower({
      pollMs: this.#config.pollMs,
      listen: this.#config.listen,
      channel: this.#names.channel,
      connect: (until) => this.#servers.connect(until),
      read: (session, since) => this.#changes(session, since),
      learn: (revision) => this.#learn(revision),
    });
    this.#followers.add(follower);
    await follower.run(sink, signal).finally(() => this.#followers.delete(follower));
  }

  /** Readers after writers: writes that are still answered wake the feeds of other processes through a reader. */
  async close(idle: Promise<void>): Promise<void> {
    await this.#writers.close();
    await this.#readers.close();
    await idle;
  }

  async #write(session: PostgresSession, batch: readonly CasOp[]): Promise<CasOutcome[]> {
    const outcomes = await this.#ask(session, () => sendBatch(session, this.#names, batch, this.#seen));
    this.#learn(highest(outcomes));
    const written = outcomes.find((outcome) => outcome.kind === "swapped");
    if (written !== undefined) this.#wakeUp.send(written.revision);
    return outcomes;
  }

  async #head(session: PostgresSession): Promise<Revision> {
    const text = `SELECT ${this.#names.schema}.head($1)`;
    const { rows } = await this.#ask(session, () => session.query(text, [this.#seen]));
    return this.#learn(Number(rows[0]?.[0]));
  }

  async #changes(session: PostgresSession, since: Revision): Promise<Changes> {
    const text = `SELECT key, value, revision FROM ${this.#names.schema}.changes($1, $2)`;
    const { rows } = await this.#ask(session, () => session.query(text, [since, this.#seen]));
    const entries = rows.map(([key, value, revision]) => {
      return { key: key ?? "", value: value ?? "", revision: Number(revision) };
    });
    const head = entries.shift();
    return { entries, revision: head?.revision ?? 0 };
  }

  async #ask<T>(session: PostgresSession, send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (isWrongServer(error)) this.#servers.avoid(session);
      throw error;
    }
  }

  /** Feeds of this process are woken at once, without the server. */
  #learn(revision: Revision): Revision {
    if (revision > this.#seen) {
      this.#seen = revision;
      for (const follower of this.#followers) follower.wake(revision);
    }
    return revision;
  }
}

/** A session that is usable now: one that was idle may have failed by the time it is handed out. */
async function acquire(pool: SessionPool, signal: AbortSignal | undefined): Promise<PostgresSession> {
  for (;;) {
    const session = await pool.acquire(signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw unavailable("the store cannot be reached", error);
    });
    if (session.isUsable) return session;
    pool.release(session);
  }
}
