import { openAsClass, type RootDatabase, type RootDatabaseOptionsWithPath } from "lmdb";

/** Bytes under bytes: the encoding of strings that the package brings along does not give every key back as it was. */
export type Table = RootDatabase<Buffer, Buffer>;

/** Address space, not memory or disk; LMDB grows it if it must. */
const MAP_BYTES = 2 ** 28;

/**
 * LMDB's files, opened in two steps. The first maps them and can list the readers; the second opens the one table, for
 * which it takes LMDB's write lock. Already the first is a danger to whoever else has them open and writes: it sets the
 * number of the last transaction in the shared lock file to what it has read, though another may have been committed
 * meanwhile, which then is lost (`mdb_env_open2` of the `lmdb` package, 3.5).
 */
export class Environment {
  /** Fit for `readerList` and `close` only. */
  readonly closed: Table;
  readonly #open: () => Table;

  /** `path` is a directory, or the data file itself. */
  constructor(path: string, kind: "directory" | "file") {
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
      // With it the package begins each turn's batch by a write of its own, whose promise nobody holds: when that
      // transaction fails, the rejection is unhandled and ends the process. Our transactions are batches themselves.
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
