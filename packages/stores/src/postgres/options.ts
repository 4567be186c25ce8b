import { InvalidRequestError } from "@tenure/core";
import { type Bounds, OptionReader, type ServerOption } from "../option-reader.js";
import { ServerUrl, type FromUrl, type ServerAddress } from "../server-url.js";
import { checkPool, type PgPoolLike } from "./pool-like.js";

export interface PostgresStoreOptions {
  /**
   * Of several servers the store uses the one that accepts writes, and looks for it again after a failure. A host that begins
   * with a slash is the directory of a Unix socket.
   *
   * @defaultValue none: required unless `pool` is given
   */
  readonly servers?: readonly ServerOption[] | undefined;
  /**
   * A pool of the program, a `Pool` of `pg`, instead of `servers`, `user`, `password`, `database` and `settings`. Closing the
   * store returns all connections and leaves the pool open. The store uses up to `poolSize` connections for writes, two for reads
   * and one for each feed, which keeps it; a pool whose `max` is too low for one feed is refused. While the program uses all
   * connections itself, calls of the store fail after two seconds.
   *
   * @defaultValue none: the store opens connections
   */
  readonly pool?: PgPoolLike | undefined;
  /** The role to log in as. @defaultValue that of `pg`: `PGUSER`, otherwise the user of the operating system */
  readonly user?: string | undefined;
  /** The password of `user`. @defaultValue that of `pg`: `PGPASSWORD`, otherwise the entry in `.pgpass` */
  readonly password?: string | undefined;
  /** The database. @defaultValue that of `pg`: `PGDATABASE`, otherwise the name of `user` */
  readonly database?: string | undefined;
  /**
   * The schema of the tables. One schema is one store.
   *
   * @defaultValue "tenure"
   */
  readonly schema?: string | undefined;
  /**
   * Number of connections for writes, 1 to 100. Reads have two of their own, and each feed has one.
   *
   * @defaultValue 4; 1 if `pool` is given
   */
  readonly poolSize?: number | undefined;
  /**
   * How often a feed looks for changes without a notification, 1 to 10,000 ms.
   *
   * @defaultValue 250 with LISTEN, 10 without
   */
  readonly pollMs?: number | undefined;
  /**
   * Whether to create missing tables and functions of the schema.
   *
   * @defaultValue true
   */
  readonly migrate?: boolean | undefined;
  /**
   * Whether feeds use LISTEN, which does not work through a transaction pooler.
   *
   * @defaultValue true where the connection reaches the server without a pooler
   */
  readonly listen?: boolean | undefined;
  /**
   * Settings that `pg` reads from a URL: `application_name`, `options`, and for TLS `sslmode`, `sslrootcert`, `sslcert`, `sslkey`,
   * `sslnegotiation`, `uselibpqcompat`.
   *
   * @defaultValue none
   */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** The same, checked and with its defaults. */
export interface PostgresConfig {
  readonly pool: PgPoolLike | undefined;
  readonly servers: readonly ServerAddress[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly schema: string;
  readonly poolSize: number;
  readonly pollMs: number | undefined;
  readonly migrate: boolean;
  readonly listen: boolean | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

/** Settings of `pg` that do not affect the guarantees of this store. Its timeouts would: they give up on a write. */
const PG_SETTINGS: readonly string[] = [
  "application_name",
  "options",
  "sslmode",
  "sslcert",
  "sslkey",
  "sslrootcert",
  "sslnegotiation",
  "uselibpqcompat",
];

/** Connections for `sync` and wake-ups, so that these do not wait for writes that wait for their turn. */
export const READERS = 2;
const FEEDS = 1;
/** Settled by a pool that is given. */
const OF_POOL = ["servers", "user", "password", "database", "settings"] as const;
const DEFAULT_PORT = 5432;
const DEFAULT_SCHEMA = "tenure";
const DEFAULT_POOL_SIZE = 4;
const DEFAULT_SHARED_POOL_SIZE = 1;
const POOL_SIZE: Bounds = { min: 1, max: 100 };
const POLL_MS: Bounds = { min: 1, max: 10_000 };
/** PostgreSQL truncates longer names, so that two schemas would become one. */
const SCHEMA_NAME = /^(?!pg_)[a-z_][a-z0-9_-]{0,62}$/i;

/** `postgres://user:password@host:port,host:port/database?schema=…&pool=…&poll_ms=…&migrate=…&listen=…`, and `PG_SETTINGS`. */
export function parsePostgresUrl(text: string): FromUrl<PostgresStoreOptions> {
  const url = new ServerUrl(text, {
    defaultPort: DEFAULT_PORT,
    parameters: ["schema", "pool", "poll_ms", "migrate", "listen", ...PG_SETTINGS],
  });
  const schema = url.text("schema");
  if (schema !== undefined) checkSchema("store", `has schema=${schema}; `, schema);
  return {
    servers: url.servers.map(({ host, port }) => ({ host: decodeHost(host), port })),
    user: url.user,
    password: url.password === "" ? undefined : url.password,
    database: url.path,
    schema,
    poolSize: url.integer("pool", POOL_SIZE),
    pollMs: url.integer("poll_ms", POLL_MS),
    migrate: url.flag("migrate"),
    listen: url.flag("listen"),
    settings: url.texts(PG_SETTINGS),
  };
}

export function checkOptions(options: PostgresStoreOptions): PostgresConfig {
  const own = ["pool", "schema", "poolSize", "pollMs", "migrate", "listen"] as const;
  const reader = new OptionReader(options, [...OF_POOL, ...own]);
  reader.excludes("pool", OF_POOL);
  const { schema = DEFAULT_SCHEMA, settings = {}, pool } = options;
  checkSchema("schema", "", schema);
  checkSettings(settings);
  const defaultSize = pool === undefined ? DEFAULT_POOL_SIZE : DEFAULT_SHARED_POOL_SIZE;
  const poolSize = reader.integer("poolSize", POOL_SIZE) ?? defaultSize;
  return Object.freeze({
    pool: pool === undefined ? undefined : checkPool(pool, poolSize + READERS + FEEDS),
    servers: pool === undefined ? reader.servers("servers", DEFAULT_PORT) : [],
    user: reader.text("user"),
    password: reader.text("password"),
    database: reader.text("database"),
    schema,
    poolSize,
    pollMs: reader.integer("pollMs", POLL_MS),
    migrate: reader.flag("migrate") ?? true,
    listen: reader.flag("listen"),
    settings: { ...settings },
  });
}

function checkSettings(settings: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (!PG_SETTINGS.includes(name)) {
      throw new InvalidRequestError("settings", `has ${name}; must be of ${PG_SETTINGS.join(", ")}`);
    }
    if (typeof value !== "string") throw new InvalidRequestError("settings", `${name} must be a string`);
  }
}

function checkSchema(field: string, seen: string, schema: unknown): void {
  if (typeof schema === "string" && SCHEMA_NAME.test(schema)) return;
  const allowed = "must be 1 to 63 letters, digits, _ or -, beginning with a letter or _, and not with pg_";
  throw new InvalidRequestError(field, `${seen}${allowed}`);
}

/** `%2Fvar%2Frun%2Fpostgresql` is the directory of a Unix socket, as in the URLs of PostgreSQL's own tools. */
function decodeHost(host: string): string {
  if (!/^%2f/i.test(host)) return host;
  try {
    return decodeURIComponent(host);
  } catch {
    throw new InvalidRequestError("store", `names the server ${host}, which is not well percent-encoded`);
  }
}
