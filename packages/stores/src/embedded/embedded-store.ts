import { resolve } from "node:path";
import {
  BackendUnavailableError,
  type CallOptions,
  type CasOp,
  type CasOutcome,
  checkBatch,
  ClosedError,
  type Entry,
  FeedHub,
  type FeedItem,
  InvalidRequestError,
  type Revision,
  type Store,
  type StoreLimits,
} from "@tenure/core";
import { Database } from "./database.js";
import { EntryTable } from "./entry-table.js";

export interface EmbeddedStoreOptions {
  /** Made, for its owner only, if it does not exist. On a local file system. */
  readonly directory: string;
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
  /** Open until the end of the present turn. */
  group: Group | null;
  /** Of the last transaction sent; when it is known, so are all before it. */
  tail: Promise<Verdict>;
  /** Why it must not be used any more. */
  broken: BackendUnavailableError | null;
}

const WRITTEN: Verdict = { kind: "written" };

/**
 * The store in a directory of this machine, for one process at a time. All entries are also in memory: comparisons,
 * conflicts and snapshots are answered from there, and LMDB makes them last. A write is acknowledged, and shown to any
 * feed, once it is flushed to disk; batches that arrive while another is being flushed go out together after it.
 *
 * When a write fails (a full disk, an I/O error), what memory holds is no longer known to be true. Feeds are ended, what
 * was under way is uncertain, and each call is refused and starts one attempt to open the data again.
 */
export class EmbeddedStore implements Store {
  readonly name = "embedded";
  /** One at a time: what waits meanwhile goes out together, and a second batch under way would only halve them. */
  readonly limits: StoreLimits = { batchOps: 8192, batchesInFlight: 1 };
  readonly #directory: string;
  readonly #hub = new FeedHub(() => this.#snapshot());
  #session: Session;
  #reopening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  private constructor(directory: string, database: Database) {
    this.#directory = directory;
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
    return new EmbeddedStore(directory, await Database.open(directory));
  }

  async compareAndSet(batch: readonly CasOp[], options?: CallOptions): Promise<CasOutcome[]> {
    const session = this.#admit(options);
    checkBatch(batch);
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
    this.#hub.close(new ClosedError("the store is closed"));
    await this.#reopening;
    await this.#session.tail;
    await this.#session.database.close();
  }

  #admit(options?: CallOptions): Session {
    if (this.#closing !== null) throw new ClosedError("the store is closed");
    options?.signal?.throwIfAborted();
    const session = this.#session;
    if (session.broken === null) return session;
    this.#reopening ??= this.#reopen(session).finally(() => (this.#reopening = null));
    throw session.broken;
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
          : { kind: "refused" as const, error: session.broken };
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
    session.table.settle(entries);
    this.#hub.publish(entries, revision);
    return WRITTEN;
  }

  #break(session: Session, cause: unknown): BackendUnavailableError {
    if (session.broken === null) {
      const message = `the store in ${this.#directory} failed: ${String(cause)}`;
      session.broken = new BackendUnavailableError(message, { cause });
      this.#hub.breakFeeds(session.broken);
    }
    return session.broken;
  }

  async #reopen(session: Session): Promise<void> {
    await session.tail;
    try {
      await session.database.close();
      this.#session = begin(await Database.open(this.#directory));
    } catch (cause) {
      // Told to whoever calls next, who thereby starts another attempt.
      const message = `the store in ${this.#directory} cannot be opened again: ${String(cause)}`;
      session.broken = new BackendUnavailableError(message, { cause });
    }
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
