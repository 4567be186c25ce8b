import { InvalidRequestError } from "@tenure/core";
import { checkPool, type PgPoolLike } from "./pool-like.js";
import { booleanParameter, numberParameter, parseServerUrl, type ServerAddress } from "../server-url.js";

export interface PostgresStoreOptions {
  /**
   * Of several, the one that accepts writes is used, and looked for again whenever it fails. A host that begins with
   * a slash is the directory of a Unix socket. Required unless `pool` is given.
   */
  readonly servers?: readonly ServerAddress[];
  /**
   * A pool of the program, a `Pool` of `pg`, instead of `servers`, `user`, `password`, `database` and `settings`. Closing the
   * store gives all connections back and leaves the pool open. The store takes up to `poolSize` for writes, two for reads and
   * one for each feed, and keeps those of feeds; a pool with a lower `max` than needed for one feed is refused. Where the
   * program uses all of them itself, calls of the store fail after two seconds.
   */
  readonly pool?: PgPoolLike | undefined;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  /** Where the tables are: `tenure`. One schema is one store. */
  readonly schema?: string;
  /** How many connections writes may use: 4, of a `pool` that is given 1. Reads have two of their own, and each feed has one. */
  readonly poolSize?: number;
  /** How often a feed looks for changes of which it was not told: every 250 ms, and every 10 ms where it cannot be told. */
  readonly pollMs?: number;
  /** Whether to make what is missing in the schema: `true`. */
  readonly migrate?: boolean;
  /** Whether to be told of changes by LISTEN, which no transaction pooler passes on. By default, where there is none. */
  readonly listen?: boolean;
  /**
   * What else `pg` reads out of a URL: `application_name`, `options`, and for TLS `sslmode`, `sslrootcert`, `sslcert`,
   * `sslkey`, `sslnegotiation`, `uselibpqcompat`.
   */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Complete, and known to be right. */
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

/** Those of `pg` that leave this store as it is. Its time limits do not: they would give up on a write for us. */
export const PG_SETTINGS: readonly string[] = [
  "application_name",
  "options",
  "sslmode",
  "sslcert",
  "sslkey",
  "sslrootcert",
  "sslnegotiation",
  "uselibpqcompat",
];

/** Connections for `sync` and wake-ups, so that they do not wait for writes that wait for their turn. */
export const READERS = 2;
const FEEDS = 1;
/** What a pool that is given has settled already. */
const OF_POOL = ["servers", "user", "password", "database", "settings"] as const;
const DEFAULT_PORT = 5432;
const DEFAULT_SCHEMA = "tenure";
const POOL_SIZE = { least: 1, most: 100, otherwise: 4 };
const POLL_MS = { least: 1, most: 10_000 };
/** PostgreSQL cuts longer names off, so that two schemas would become one. */
const SCHEMA_NAME = /^(?!pg_)[a-z_][a-z0-9_-]{0,62}$/i;

/** `postgres://user:password@host:port,host:port/database?schema=…&pool=…&poll_ms=…&migrate=…&listen=…`, and `PG_SETTINGS`. */
export function parsePostgresUrl(
  text: string,
): PostgresStoreOptions & { readonly servers: readonly ServerAddress[] } {
  const url = parseServerUrl(text, {
    defaultPort: DEFAULT_PORT,
    parameters: ["schema", "pool", "poll_ms", "migrate", "listen", ...PG_SETTINGS],
  });
  const { user, password, path, parameters } = url;
  const schema = parameters.get("schema");
  if (schema !== undefined) checkSchema("store", `has schema=${schema}; `, schema);
  const settings = [...parameters].filter(([name]) => PG_SETTINGS.includes(name));
  return {
    servers: url.servers.map(({ host, port }) => ({ host: decodeHost(host), port })),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(path === "" ? {} : { database: path }),
    ...(schema === undefined ? {} : { schema }),
    poolSize: numberParameter(url, "pool", POOL_SIZE),
    ...(parameters.has("poll_ms")
      ? { pollMs: numberParameter(url, "poll_ms", { ...POLL_MS, otherwise: 0 }) }
      : {}),
    migrate: booleanParameter(url, "migrate", true),
    ...(parameters.has("listen") ? { listen: booleanParameter(url, "listen", true) } : {}),
    settings: Object.fromEntries(settings),
  };
}

const NAMES: readonly string[] = [
  "servers",
  "pool",
  "user",
  "password",
  "database",
  "schema",
  "poolSize",
  "pollMs",
  "migrate",
  "listen",
  "settings",
] satisfies (keyof PostgresStoreOptions)[];

export function checkOptions(options: PostgresStoreOptions): PostgresConfig {
  for (const name of Object.keys(options)) {
    if (!NAMES.includes(name)) {
      throw new InvalidRequestError(name, `is unknown; the options are ${NAMES.join(", ")}`);
    }
  }
  const { schema = DEFAULT_SCHEMA, settings = {} } = options;
  checkSchema("schema", "", schema);
  for (const [name, value] of Object.entries(settings)) {
    if (!PG_SETTINGS.includes(name)) {
      throw new InvalidRequestError("settings", `has ${name}; must be of ${PG_SETTINGS.join(", ")}`);
    }
    checkType("settings", `${name} must be a string`, typeof value === "string");
  }
  const isShared = options.pool !== undefined;
  const poolSize = whole("poolSize", options.poolSize ?? (isShared ? 1 : POOL_SIZE.otherwise), POOL_SIZE);
  if (isShared) checkShared(options);
  return Object.freeze({
    pool: isShared ? checkPool(options.pool, poolSize + READERS + FEEDS) : undefined,
    servers: isShared ? [] : checkServers(options.servers),
    user: text("user", options.user),
    password: text("password", options.password),
    database: text("database", options.database),
    schema,
    poolSize,
    pollMs: options.pollMs === undefined ? undefined : whole("pollMs", options.pollMs, POLL_MS),
    migrate: flag("migrate", options.migrate) ?? true,
    listen: flag("listen", options.listen),
    settings: { ...settings },
  });
}

function checkShared(options: PostgresStoreOptions): void {
  const settled = OF_POOL.find((name) => options[name] !== undefined);
  if (settled === undefined) return;
  throw new InvalidRequestError(settled, "is settled by the pool that is given; remove it");
}

function checkServers(servers: unknown): readonly ServerAddress[] {
  const what = "must be a list of one or more { host, port }";
  checkType("servers", what, Array.isArray(servers) && servers.length > 0);
  return (servers as readonly Partial<ServerAddress>[]).map(({ host, port }) => {
    checkType("servers", what, typeof host === "string" && host !== "");
    return { host: host as string, port: whole("servers", port, { least: 1, most: 65_535 }) };
  });
}

function checkSchema(field: string, seen: string, schema: unknown): void {
  const what = "must be 1 to 63 letters, digits, _ or -, beginning with a letter or _, and not with pg_";
  checkType(field, `${seen}${what}`, typeof schema === "string" && SCHEMA_NAME.test(schema));
}

function whole(field: string, value: unknown, { least, most }: { least: number; most: number }): number {
  const isWhole = Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  checkType(field, `must be a whole number from ${least} to ${most}`, isWhole);
  return Number(value);
}

function flag(field: string, value: unknown): boolean | undefined {
  checkType(field, "must be true or false", value === undefined || typeof value === "boolean");
  return value as boolean | undefined;
}

/** What is wrong is told without the value: it may be a password. */
function text(field: string, value: unknown): string | undefined {
  checkType(field, "must be a string without U+0000", value === undefined || isText(value));
  return value as string | undefined;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && !value.includes("\0");
}

function checkType(field: string, problem: string, isRight: boolean): void {
  if (!isRight) throw new InvalidRequestError(field, problem);
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
