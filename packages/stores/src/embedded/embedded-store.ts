import { resolve } from "node:path";
import {
  BackendUnavailableError,
  type CallOptions,
  type CasOp,
  type CasOutcome,
  checkBatch,
  type Clock,
  ClosedError,
  type Entry,
  FeedHub,
  type FeedItem,
  InvalidRequestError,
  type Revision,
  type Store,
  type StoreFeatures,
  type StoreLimits,
  systemClock,
  MAX_KEY_LENGTH,
} from "@tenure/core";
import { Backoff } from "../backoff.js";
import { Database, type DatabaseOptions } from "./database.js";
import { EntryTable } from "./entry-table.js";
import { LeftFile } from "./left-file.js";

export interface EmbeddedStoreOptions {
  /** Made, for its owner only, if it does not exist. On a local file system. */
  readonly directory: string;
  /**
   * Times the attempts to open the directory again after a failed write.
   *
   * @defaultValue the machine's clock
   */
  readonly clock?: Clock;
}

/** What became of a transaction. `lost`: it failed, or nobody waited for it, in a way that tells nothing. */
type Verdict =
  | { readonly kind: "written" }
  | { readonly kind: "refused"; readonly error: BackendUnavailableError }
  | { readonly kind: "lost"; readonly cause: unknown };

/** Writes that go out together. */
interface Group {
  readonly entries: Entry[];
  readonly verdict: Promise<Verdict>;
}

/** One opening of the data, from the claim to its end. */
interface Session {
  readonly database: Database;
  readonly table: EntryTable;
  /** Takes in writes until the transaction before it has ended; then it is sent, and the next write begins another. */
  group: Group | null;
  /** Of the last transaction sent; when it is known, so are all before it. */
  tail: Promise<Verdict>;
  /** Why it must not be used any more; `null` while it may. */
  broken: { readonly problem: string; readonly cause: unknown } | null;
}

const WRITTEN: Verdict = { kind: "written" };
const REOPEN_BACKOFF = { firstMs: 100, maxMs: 5000 };

/**
 * The store in a directory of this machine, for one process at a time. All entries are also in memory: comparisons,
 * conflicts and snapshots are answered from there, and LMDB makes them last. A write is acknowledged, and shown to any
 * feed, once it is flushed to disk; batches that arrive while another is being flushed go out together after it.
 *
 * When a write fails (a full disk, an I/O error), what memory holds is no longer known to be true. Feeds are ended, what
 * was under way is uncertain, and calls are refused until the data has been opened again. Attempts are started by
 * calls, with a backoff that only a successful write ends: on a full disk opening may succeed and each write fail.
 */
export class EmbeddedStore implements Store {
  readonly name = "embedded";
  readonly features: StoreFeatures = { shared: false, durable: true };
  /** One at a time: what waits meanwhile goes out together, and a second batch under way would only halve them. */
  readonly limits: StoreLimits = {
    batchOps: 8192,
    batchesInFlight: 1,
    keyLength: MAX_KEY_LENGTH,
    valueBytes: 2 ** 22,
  };
  readonly #directory: string;
  readonly #options: DatabaseOptions;
  readonly #backoff: Backoff;
  readonly #stop: AbortController;
  readonly #hub = new FeedHub(() => this.#snapshot());
  #session: Session;
  #reopening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  private constructor(
    directory: string,
    database: Database,
    options: DatabaseOptions,
    stop: AbortController,
  ) {
    this.#directory = directory;
    this.#options = options;
    this.#backoff = new Backoff(options.clock, REOPEN_BACKOFF);
    this.#stop = stop;
    this.#session = begin(database);
  }

  /**
   * Throws `InvalidRequestError` (`directory`) if the directory is not ours, is damaged or may not be used, and
   * `BackendUnavailableError` if another process has it open.
   */
  static async open(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
    const path: unknown = options.directory;
    if (typeof path !== "string" || path === "" || path.includes("\0")) {
      throw new InvalidRequestError("directory", "must be the path of a directory");
    }
    // Once and for all: it may have to be opened again from another working directory.
    const directory = resolve(path);
    const stop = new AbortController();
    const shared = { clock: options.clock ?? systemClock, signal: stop.signal, left: new LeftFile() };
    return new EmbeddedStore(directory, await Database.open(directory, shared), shared, stop);
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const session = this.#admit(options);
    checkBatch(batch, this.limits);
    const { outcomes, written, isAhead } = session.table.decide(batch);
    if (written.length === 0 && !isAhead) {
      this.#checkOwner(session);
      return outcomes;
    }
    const sent = written.length === 0 ? session.tail : this.#commit(session, written);
    const verdict = await unlessAborted(sent, options?.signal);
    switch (verdict.kind) {
      case "written":
        return outcomes;
      case "refused":
        throw verdict.error;
      case "lost":
        return batch.map(() => ({ kind: "uncertain", cause: verdict.cause }));
    }
  }

  async sync(options?: CallOptions): Promise<Revision> {
    const session = this.#admit(options);
    this.#checkOwner(session);
    return session.table.revision;
  }

  feed(options?: CallOptions): AsyncIterable<FeedItem> {
    return this.#hub.feed(options);
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
    this.#hub.close(reason);
    this.#stop.abort(reason);
    await this.#reopening;
    await this.#session.tail;
    await this.#session.database.close();
  }

  #admit(options?: CallOptions): Session {
    if (this.#closing !== null) throw new ClosedError("the store is closed");
    options?.signal?.throwIfAborted();
    const session = this.#session;
    if (session.broken === null) return session;
    if (this.#reopening === null && this.#backoff.leftMs() === 0) {
      this.#reopening = this.#reopen(session).finally(() => (this.#reopening = null));
    }
    throw this.#refusal(session.broken);
  }

  /** For answers from memory alone. Writes need no look: their transaction fails if the directory was taken. */
  #checkOwner(session: Session): void {
    if (!session.database.isOurs()) throw this.#break(session, taken());
  }

  #snapshot(): ReturnType<EntryTable["snapshot"]> {
    const session = this.#admit();
    this.#checkOwner(session);
    return session.table.snapshot();
  }

  /**
   * One transaction at a time: what arrives meanwhile waits and goes out together. So when one fails, nothing that was
   * decided after it has been sent.
   */
  #commit(session: Session, written: readonly Entry[]): Promise<Verdict> {
    if (session.group === null) {
      const entries: Entry[] = [];
      const verdict = session.tail.then(() => {
        session.group = null;
        return session.broken === null
          ? this.#send(session, entries)
          : { kind: "refused" as const, error: this.#refusal(session.broken) };
      });
      session.group = { entries, verdict };
      session.tail = verdict;
    }
    for (const entry of written) session.group.entries.push(entry);
    return session.group.verdict;
  }

  async #send(session: Session, entries: readonly Entry[]): Promise<Verdict> {
    const revision = (entries.at(-1) as Entry).revision;
    try {
      const isWritten = await session.database.commit(entries, revision);
      if (!isWritten) return { kind: "refused", error: this.#break(session, taken()) };
    } catch (cause) {
      this.#break(session, cause);
      return { kind: "lost", cause };
    }
    this.#backoff.succeeded();
    session.table.settle(entries);
    this.#hub.publish(entries, revision);
    return WRITTEN;
  }

  #break(session: Session, cause: unknown): BackendUnavailableError {
    if (session.broken !== null) return this.#refusal(session.broken);
    session.broken = { problem: "failed", cause };
    this.#backoff.failed();
    const refusal = this.#refusal(session.broken);
    this.#hub.fail(refusal);
    return refusal;
  }

  async #reopen(session: Session): Promise<void> {
    await session.tail;
    try {
      await session.database.close();
      this.#session = begin(await Database.open(this.#directory, this.#options));
    } catch (cause) {
      session.broken = { problem: "cannot be opened again", cause };
      this.#backoff.failed();
    }
  }

  #refusal({ problem, cause }: { problem: string; cause: unknown }): BackendUnavailableError {
    const next =
      this.#reopening === null
        ? `next attempt in ${Math.ceil(this.#backoff.leftMs())} ms`
        : "it is being opened again";
    const message = `the store in ${this.#directory} ${problem}: ${String(cause)}; ${next}`;
    return new BackendUnavailableError(message, { cause });
  }
}

function begin(database: Database): Session {
  const table = new EntryTable(database.entries, database.revision);
  return { database, table, group: null, tail: Promise.resolve(WRITTEN), broken: null };
}

function taken(): Error {
  return new Error("another process has taken the directory, or a write before this one failed");
}

function unlessAborted(sent: Promise<Verdict>, signal: AbortSignal | undefined): Promise<Verdict> {
  if (signal === undefined) return sent;
  return new Promise((resolve, reject) => {
    const abort = () => resolve({ kind: "lost", cause: signal.reason });
    signal.addEventListener("abort", abort, { once: true });
    sent.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
  });
}
