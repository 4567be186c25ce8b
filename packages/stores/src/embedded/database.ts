/**
 * The LMDB file of one embedded store, owned by one process at a time.
 *
 * Beside the entries it has a head: the revision of the last write, and, as its LMDB version, a number that every
 * transaction of ours raises by one. Each transaction is conditional on the head as its writer left it. So a
 * transaction never follows one that failed, and an owner that lost the directory, whatever became of its lock, can
 * write nothing more: the next owner claims the head with a random number when it opens the directory.
 *
 * Transactions are flushed before they become visible (`overlappingSync` off): LMDB writes the pages, calls fdatasync,
 * and writes the meta page through a descriptor opened with O_DSYNC; only then does the commit return.
 */
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { BackendUnavailableError, type Entry, type Revision, TenureError } from "@tenure/core";
import { type DataFileHead, readHead, verify } from "./data-file.js";
import type { Contents, LeftFile } from "./left-file.js";
import { DataFileError } from "./page-walk.js";
import { preflight } from "./preflight.js";
import { inSlices, type SliceOptions, type Steps } from "./slices.js";
import {
  DATA_FILE,
  type DirectoryState,
  FORMAT,
  LOCK_FILE,
  markDirectory,
  prepareDirectory,
  refusal,
} from "./directory.js";
import { DirectoryLock, inUse } from "./directory-lock.js";
import { decodeValue, encodeValue } from "./entry-codec.js";
import { Environment, loadLmdb, type Table } from "./environment.js";

/** Keys of entries are UTF-8 without U+0000, so this is none of them, and comes before all. */
const HEAD = Buffer.from("\0tenure");
const MAX_CLAIM = 2 ** 47;
/** Read in one go. A cursor of LMDB must not be left open from one turn of the event loop to another. */
const ENTRIES_PER_READ = 64;

export interface DatabaseOptions extends SliceOptions {
  /** What this process knows of the file from the last time that it had it open. */
  readonly left: LeftFile;
}

export class Database {
  /** What was on disk when it was opened. The caller adds what it commits. */
  readonly entries: Map<string, Entry>;
  readonly revision: Revision;
  readonly #table: Table;
  readonly #lock: DirectoryLock;
  readonly #file: string;
  readonly #left: LeftFile;
  readonly #claim: number;
  #chain: number;
  /** As of the last transaction that is known to be committed. */
  #committed: { readonly revision: Revision; readonly headVersion: number };
  #closing: Promise<void> | null = null;

  private constructor(file: string, table: Table, contents: Claimed, lock: DirectoryLock, left: LeftFile) {
    this.#file = file;
    this.#table = table;
    this.entries = contents.entries;
    this.revision = contents.revision;
    this.#claim = contents.headVersion;
    this.#chain = contents.headVersion;
    this.#committed = contents;
    this.#lock = lock;
    this.#left = left;
  }

  static async open(path: string, options: DatabaseOptions): Promise<Database> {
    const { left } = options;
    const file = join(path, DATA_FILE);
    let lock: DirectoryLock | null = null;
    let table: Table | null = null;
    let contents: Contents | null = null;
    try {
      const { highestExisting } = await refuseForeign(path, options);
      lock = await DirectoryLock.take(path);
      const state = await prepareDirectory(path);
      const before = examine(path, state);
      contents = left.contents(file);
      if (before !== null && contents === null) await verifyContents(path, state, before, options);
      const lmdb = await loadLmdb();
      preflight(path, DATA_FILE, LOCK_FILE);
      const environment = new Environment(lmdb, path, "directory");
      table = environment.closed;
      table = environment.open();
      const isKnown = contents !== null && contents.headVersion === table.getEntry(HEAD)?.version;
      if (contents === null || !isKnown) contents = await inSlices(load(path, table), options);
      const claimed = await claimHead(path, table, contents, before);
      contents = claimed;
      if (!state.isMarked) await markDirectory(path, highestExisting);
      return new Database(file, table, claimed, lock, left);
    } catch (error) {
      // What is reported is why it could not be opened, not what came of that.
      await table?.close().catch(() => {});
      if (contents !== null) left.remember(file, contents);
      await lock?.release().catch(() => {});
      throw explain(path, error);
    }
  }

  /**
   * Writes the entries in one transaction and resolves when they are on disk. `false`: nothing was written, because
   * the transaction before failed or the directory has another owner. A rejection tells nothing.
   */
  async commit(entries: readonly Entry[], revision: Revision): Promise<boolean> {
    const before = this.#chain++;
    const after = this.#chain;
    const table = this.#table;
    const isWritten = await writeIfHead(table, before, () => {
      void table.put(HEAD, encodeHead(revision, after), after);
      for (const { key, value, revision } of entries) {
        void table.put(Buffer.from(key), encodeValue(key, revision, value), revision);
      }
    });
    if (isWritten) this.#committed = { revision, headVersion: after };
    return isWritten;
  }

  /** No other process has claimed the directory since this one did. */
  isOurs(): boolean {
    const version = this.#table.getEntry(HEAD)?.version ?? 0;
    return version >= this.#claim && version <= this.#chain;
  }

  /** Waits for what is being written. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      const isSound = this.#isIntact();
      await this.#table.close();
      if (isSound) this.#left.remember(this.#file, { entries: this.entries, ...this.#committed });
      else this.#left.forget();
    } finally {
      await this.#lock.release();
    }
  }

  /** After some failures LMDB does not even let its file be read. */
  #isIntact(): boolean {
    try {
      return this.isOurs();
    } catch {
      return false;
    }
  }
}

interface Claimed extends Contents {
  readonly headVersion: number;
}

/** Reads the first pages, which are never half-written. `null`: the store does not exist yet. */
function examine(path: string, state: DirectoryState): DataFileHead | null {
  if (state.dataBytes === null || state.dataBytes === 0) {
    if (!state.isMarked) return null;
    throw damaged(path, state.dataBytes === null ? "has no data.mdb any more" : "has an empty data.mdb");
  }
  const head = readHead(join(path, DATA_FILE));
  if (state.isMarked && head.entries === 0) throw damaged(path, "has an empty data.mdb");
  return head;
}

/** Before anything is put into it, the lock included. */
async function refuseForeign(path: string, options: SliceOptions): Promise<DirectoryState> {
  const state = await prepareDirectory(path);
  if (state.isMarked) return state;
  const before = examine(path, state);
  try {
    if (before !== null) await verifyContents(path, state, before, options);
  } catch (error) {
    // Not foreign: another that started at the same moment is making its store here.
    if (readHead(join(path, DATA_FILE)).transaction === before?.transaction) throw error;
  }
  return state;
}

async function verifyContents(
  path: string,
  state: DirectoryState,
  before: DataFileHead,
  options: SliceOptions,
): Promise<void> {
  const hasHead = await inSlices(verify(join(path, DATA_FILE), HEAD), options);
  if (hasHead || (!state.isMarked && before.entries === 0)) return;
  if (state.isMarked) throw damaged(path, "has a data.mdb without a head");
  throw refusal(path, "holds the LMDB data of another program; name an empty or a new one");
}

function* load(path: string, table: Table): Steps<Contents> {
  const entries = new Map<string, Entry>();
  const head = table.getEntry(HEAD);
  if (head === undefined) return { entries, revision: 0, headVersion: null };
  const { version: headVersion = 0 } = head;
  const revision = decodeHead(path, headVersion, head.value);
  // The head comes before all entries.
  for (let last: Buffer = HEAD; ;) {
    const range = { start: last, exclusiveStart: true, limit: ENTRIES_PER_READ, versions: true };
    const read = [...table.getRange(range)];
    for (const { key: keyBytes, value: bytes, version = 0 } of read) {
      last = keyBytes;
      const key = Buffer.from(keyBytes).toString();
      const value = decodeValue(key, version, bytes);
      if (value === null || version > revision) {
        const name = JSON.stringify(key.slice(0, 80));
        throw damaged(path, `has an entry ${name} in its data.mdb that is not as it was written`);
      }
      entries.set(key, { key, value, revision: version });
    }
    if (read.length < ENTRIES_PER_READ) return { entries, revision, headVersion };
    yield read.length;
  }
}

/** One transaction, flushed; it fails if anything was written since we looked. */
async function claimHead(
  path: string,
  table: Table,
  contents: Contents,
  before: DataFileHead | null,
): Promise<Claimed> {
  const { revision, headVersion } = contents;
  const claim = randomInt(1, MAX_CLAIM);
  // What is known is what was walked; and the head, which every write of ours changes, is still the same.
  const isAsSeen =
    headVersion === null || readHead(join(path, DATA_FILE)).transaction === before?.transaction;
  const isClaimed =
    isAsSeen &&
    (await writeIfHead(table, headVersion, () => void table.put(HEAD, encodeHead(revision, claim), claim)));
  if (!isClaimed) throw inUse(path, "another process");
  return { ...contents, headVersion: claim };
}

/** One transaction, flushed, if the head still has that version; `null`: if there is no head. Else `false`. */
async function writeIfHead(table: Table, version: number | null, write: () => void): Promise<boolean> {
  try {
    return await (version === null ? table.ifNoExists(HEAD, write) : table.ifVersion(HEAD, version, write));
  } catch (error) {
    // LMDB reports the cause in a promise of its own, which must not be left to reject unseen.
    throw (
      (await (error as { commitError?: Promise<unknown> }).commitError?.catch((cause: unknown) => cause)) ??
      error
    );
  }
}

function encodeHead(revision: Revision, version: number): Buffer {
  return encodeValue("", version, JSON.stringify({ format: FORMAT, revision }));
}

function decodeHead(path: string, version: number, bytes: Buffer): Revision {
  const text = decodeValue("", version, bytes);
  if (text === null) throw damaged(path, "has a head in its data.mdb that is not as it was written");
  const { format, revision } = JSON.parse(text) as { format: number; revision: Revision };
  if (format === FORMAT) return revision;
  throw refusal(
    path,
    `is of format ${format} and this Tenure knows ${FORMAT}; use the version that wrote it`,
  );
}

function damaged(path: string, problem: string, cause?: unknown): TenureError {
  return refusal(path, `${problem}; restore the directory from a backup`, cause);
}

const DENIED = new Set<unknown>(["EACCES", "EPERM", "EISDIR"]);

function explain(path: string, error: unknown): unknown {
  if (error instanceof TenureError) return error;
  if (error instanceof DataFileError) return damaged(path, `has a ${DATA_FILE} that ${error.message}`, error);
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (DENIED.has(code)) {
    const problem = `has files that may not be read and written (${String(message)})`;
    return refusal(path, `${problem}; change their owner or name another directory`, error);
  }
  return new BackendUnavailableError(`directory ${path} could not be opened: ${String(message)}`, {
    cause: error,
  });
}
