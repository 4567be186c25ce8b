import { resolve } from "node:path";
import {
  BackendUnavailableError,
  type CasOp,
  type CasOutcome,
  type Clock,
  type Entry,
  type FeedSink,
  InvalidRequestError,
  NothingWritten,
  type Revision,
  type Store,
  type StoreDriver,
  type StoreFeatures,
  type StoreLimits,
  storeOf,
  systemClock,
  type WriteCall,
} from "@tenure/core";
import { FeedHub, MAX_KEY_LENGTH } from "@tenure/core/internal";
import { Backoff } from "../backoff.js";
import { Database, type DatabaseOptions } from "./database.js";
import { EntryTable } from "./entry-table.js";
import { LeftFile } from "./left-file.js";

export interface EmbeddedStoreOptions {
  /** A directory on a local file system. Created if it does not exist, accessible to its owner only. */
  readonly directory: string;
  /**
   * Times the attempts to open the directory again after a failed write.
   *
   * @defaultValue the machine's clock
   */
  readonly clock?: Clock;
}

/** The result of a transaction. `lost`: it failed in a way that does not show whether it was written. */
type Verdict =
  | { readonly kind: "written" }
  | { readonly kind: "refused"; readonly error: BackendUnavailableError }
  | { readonly kind: "lost"; readonly cause: unknown };

/** Writes that are committed in one transaction. */
interface PendingCommit {
  readonly entries: Entry[];
  readonly verdict: Promise<Verdict>;
}

/** One opening of the data, from its claim to its end. */
interface Opening {
  readonly database: Database;
  readonly table: EntryTable;
  /** Takes in writes until the transaction before it has ended. It is then sent, and the next write begins another. */
  pending: PendingCommit | null;
  /** Of the last transaction sent. When it is known, so are all before it. */
  tail: Promise<Verdict>;
  /** Why the opening must not be used any more; `null` while it may. */
  broken: { readonly problem: string; readonly cause: unknown } | null;
}

const WRITTEN: Verdict = { kind: "written" };
const REOPEN_BACKOFF = { firstMs: 100, maxMs: 5000 };

/** The store in a directory of this machine, for one process at a time. */
export const EmbeddedStore = {
  /**
   * Throws `InvalidRequestError` (`directory`) if the directory belongs to another program, is damaged or may not be used,
   * and `BackendUnavailableError` if another process has it open.
   */
  async open(options: EmbeddedStoreOptions): Promise<Store> {
    const path: unknown = options.directory;
    if (typeof path !== "string" || path === "" || path.includes("\0")) {
      throw new InvalidRequestError("directory", "must be the path of a directory");
    }
    // Resolved once: the directory may have to be opened again from another working directory.
    const directory = resolve(path);
    const stop = new AbortController();
    const shared = { clock: options.clock ?? systemClock, signal: stop.signal, left: new LeftFile() };
    return storeOf(new EmbeddedDriver(directory, await Database.open(directory, shared), shared, stop));
  },
};

/**
 * All entries are also in memory: comparisons, conflicts and snapshots are answered from there, and LMDB makes them
 * durable. A write is acknowledged, and shown to feeds, once it is flushed to disk. Batches that arrive while another is
 * being flushed are committed together after it.
 *
 * When a write fails (a full disk, an I/O error), memory no longer shows what is on disk. Feeds are ended, writes in
 * flight are uncertain, and calls are refused until the data has been opened again. Calls start the attempts, with a
 * backoff that only a successful write ends: on a full disk opening may succeed and each write fail.
 */
class EmbeddedDriver implements StoreDriver {
  readonly name = "embedded";
  readonly features: StoreFeatures = { shared: false, durable: true };
  /** One batch in flight: the others are committed together after it, and a second one in flight would halve them. */
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
  #opening: Opening;
  #reopening: Promise<void> | null = null;

  constructor(directory: string, database: Database, options: DatabaseOptions, stop: AbortController) {
    this.#directory = directory;
    this.#options = options;
    this.#backoff = new Backoff(options.clock, REOPEN_BACKOFF);
    this.#stop = stop;
    this.#opening = begin(database);
  }

  async write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    const opening = this.#usable();
    const { outcomes, written, isAhead } = opening.table.decide(batch);
    if (written.length === 0 && !isAhead) {
      this.#checkOwner(opening);
      return outcomes;
    }
    call.begin();
    const verdict = await (written.length === 0 ? opening.tail : this.#commit(opening, written));
    switch (verdict.kind) {
      case "written":
        return outcomes;
      case "refused":
        throw new NothingWritten(verdict.error);
      case "lost":
        throw verdict.cause;
    }
  }

  async head(): Promise<Revision> {
    const opening = this.#usable();
    this.#checkOwner(opening);
    return opening.table.revision;
  }

  async follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    this.#hub.join(sink, signal);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the store is being closed"));
    await this.#reopening;
    await this.#opening.tail;
    await this.#opening.database.close();
  }

  #usable(): Opening {
    const opening = this.#opening;
    if (opening.broken === null) return opening;
    if (this.#reopening === null && this.#backoff.leftMs() === 0) {
      this.#reopening = this.#reopen(opening).finally(() => (this.#reopening = null));
    }
    throw this.#refusal(opening.broken);
  }

  /** For answers from memory alone. Writes need no check: their transaction fails if the directory has another owner. */
  #checkOwner(opening: Opening): void {
    if (!opening.database.isOurs()) throw this.#break(opening, taken());
  }

  #snapshot(): ReturnType<EntryTable["snapshot"]> {
    const opening = this.#usable();
    this.#checkOwner(opening);
    return opening.table.snapshot();
  }

  /**
   * One transaction at a time: writes that arrive meanwhile wait and are committed together. So when a transaction fails,
   * nothing that was decided after it has been sent.
   */
  #commit(opening: Opening, written: readonly Entry[]): Promise<Verdict> {
    if (opening.pending === null) {
      const entries: Entry[] = [];
      const verdict = opening.tail.then(() => {
        opening.pending = null;
        return opening.broken === null
          ? this.#send(opening, entries)
          : { kind: "refused" as const, error: this.#refusal(opening.broken) };
      });
      opening.pending = { entries, verdict };
      opening.tail = verdict;
    }
    for (const entry of written) opening.pending.entries.push(entry);
    return opening.pending.verdict;
  }

  async #send(opening: Opening, entries: readonly Entry[]): Promise<Verdict> {
    const revision = (entries.at(-1) as Entry).revision;
    try {
      const isWritten = await opening.database.commit(entries, revision);
      if (!isWritten) return { kind: "refused", error: this.#break(opening, taken()) };
    } catch (cause) {
      this.#break(opening, cause);
      return { kind: "lost", cause };
    }
    this.#backoff.succeeded();
    opening.table.settle(entries);
    this.#hub.publish(entries, revision);
    return WRITTEN;
  }

  #break(opening: Opening, cause: unknown): BackendUnavailableError {
    if (opening.broken !== null) return this.#refusal(opening.broken);
    opening.broken = { problem: "failed", cause };
    this.#backoff.failed();
    const refusal = this.#refusal(opening.broken);
    this.#hub.fail(refusal);
    return refusal;
  }

  async #reopen(opening: Opening): Promise<void> {
    await opening.tail;
    try {
      await opening.database.close();
      this.#opening = begin(await Database.open(this.#directory, this.#options));
    } catch (cause) {
      opening.broken = { problem: "cannot be opened again", cause };
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

function begin(database: Database): Opening {
  const table = new EntryTable(database.entries, database.revision);
  return { database, table, pending: null, tail: Promise.resolve(WRITTEN), broken: null };
}

function taken(): Error {
  return new Error("another process has taken the directory, or a write before this one failed");
}
