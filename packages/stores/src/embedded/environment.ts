import type { RootDatabase, RootDatabaseOptionsWithPath } from "lmdb";
import { loadLibraries } from "../engine-libraries.js";

export type Lmdb = typeof import("lmdb");

/** Keys and values are bytes: the package's own encoding of strings does not return every key unchanged. */
export type Table = RootDatabase<Buffer, Buffer>;

/** Address space, not memory or disk. LMDB grows it when needed. */
const MAP_BYTES = 2 ** 28;

export async function loadLmdb(): Promise<Lmdb> {
  return (await loadLibraries("embedded", { lmdb: () => import("lmdb") })).lmdb;
}

/**
 * LMDB's files, opened in two steps. The first maps them and can list the readers; the second opens the one table, for
 * which it takes LMDB's write lock. Even the first step endangers another process that writes to the same files: it sets
 * the number of the last transaction in the shared lock file to the one that it has read, and a transaction committed
 * meanwhile is lost (`mdb_env_open2` of the `lmdb` package, 3.5).
 */
export class Environment {
  /** Only `readerList` and `close` may be called. */
  readonly closed: Table;
  readonly #open: () => Table;

  /** `path` is a directory, or the data file itself. */
  constructor({ openAsClass }: Lmdb, path: string, kind: "directory" | "file") {
    const options: RootDatabaseOptionsWithPath & { isRoot: boolean; permissionsMode: number } = {
      path,
      isRoot: true,
      noSubdir: kind === "file",
      permissionsMode: 0o600,
      mapSize: MAP_BYTES,
      maxDbs: 1,
      encoding: "binary",
      keyEncoding: "binary",
      useVersions: true,
      overlappingSync: false,
      // If on, the package begins the batch of each turn with a write of its own. When that transaction fails, its
      // rejection is unhandled and ends the process. Our transactions are batches already.
      eventTurnBatching: false,
    };
    const TableClass = openAsClass<Buffer, Buffer>(options) as unknown as {
      new (name: null, options: RootDatabaseOptionsWithPath): Table;
      readonly prototype: Table;
    };
    this.closed = Object.create(TableClass.prototype, { isRoot: { value: true } }) as Table;
    this.#open = () => new TableClass(null, options);
  }

  open(): Table {
    return this.#open();
  }
}
