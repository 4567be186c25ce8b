import {
  type Clock,
  type ElectorAdmin,
  InvalidRequestError,
  MemoryStore,
  type Store,
  StoreElector,
} from "@tenure/core";
import { checkInteger, checkKeys, checkNumber, isObject } from "@tenure/core/internal";
import { HttpElector } from "./http/http-elector.js";
import type { HttpElectorOptions } from "./http/options.js";

/**
 * Options of `openElector`. For a Tenure service they are those of `HttpElector`; for a store `bucketAutoCreate`,
 * `driftRatio`, `waitForStoreMs`, `clock` and `random`. An option that does not fit the URL is refused with
 * `InvalidRequestError`.
 */
export interface OpenElectorOptions extends Omit<HttpElectorOptions, "endpoints"> {
  /**
   * For NATS only: whether to create the bucket if it does not exist. `false` for users without the right to create
   * buckets; opening then fails until the bucket exists.
   *
   * @defaultValue true
   */
  readonly bucketAutoCreate?: boolean | undefined;
  /**
   * For stores only: the largest rate error of any clock that takes part, from 0 to 0.2. It must be the same in all
   * processes that use the store. Too small: two leaders may act at the same time. Too large: failover takes longer by
   * `ttlMs · driftRatio`.
   *
   * @defaultValue 0.01
   */
  readonly driftRatio?: number | undefined;
  /**
   * For stores only: how long to wait for an engine that cannot be reached, in milliseconds, from 0 (a single attempt) to
   * 86,400,000. Attempts are repeated at growing intervals of up to two seconds; after this time `openElector` rejects with
   * `BackendUnavailableError`. Too small: a program that starts before its engine fails. Too large: a wrong address is
   * reported late. Errors that waiting cannot change, such as wrong credentials, reject at once.
   *
   * @defaultValue 30,000
   */
  readonly waitForStoreMs?: number | undefined;
}

/**
 * A connection that the program has already, and the name of the store in it. Closing the elector leaves the connection
 * open. Needs `@tenure/stores`.
 */
export type StoreConnection =
  /** A `NatsConnection` of `@nats-io/transport-node`. */
  | {
      readonly nats: {
        publish(subject: string): void;
        subscribe(subject: string): unknown;
        status(): AsyncIterable<unknown>;
        closed(): Promise<unknown>;
        isClosed(): boolean;
      };
      readonly bucket: string;
      readonly replicas?: number | undefined;
    }
  /** A `Pool` of `pg`, with `max` of at least 4. */
  | { readonly postgres: { connect(): Promise<unknown> }; readonly schema?: string };

const OF_STORES: readonly (keyof OpenElectorOptions)[] = [
  "bucketAutoCreate",
  "driftRatio",
  "waitForStoreMs",
  "clock",
  "random",
];

/** The schemes of `@tenure/stores`, listed here because that package may not be installed. */
const STORE_SCHEMES = ["memory", "embedded", "etcd", "nats", "postgres", "postgresql", "zookeeper"];
const DEFAULT_WAIT_FOR_STORE_MS = 30_000;
const MAX_WAIT_FOR_STORE_MS = 86_400_000;

/**
 * Opens the elector that a URL names. Closing the elector closes everything that this call opened.
 *
 * - `http://a:7420,b:7420` or `https://…`, or a list of such: the servers of one Tenure service
 * - `etcd:`, `nats:`, `postgres:`, `zookeeper:`, `embedded:`: a store of `@tenure/stores`, directly and with no service
 * - `memory:`: within this process, for tests and trials
 * - `{ nats: connection, bucket }`, `{ postgres: pool }`: a store over a connection that the program owns
 *
 * Neither a service nor a store has to run yet: elections and observers retry their requests to a service, and this call
 * waits for a store (`waitForStoreMs`).
 */
export async function openElector(
  url: string | readonly string[] | StoreConnection,
  options: OpenElectorOptions = {},
): Promise<ElectorAdmin> {
  const given: unknown = options;
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  if (typeof url === "string" ? /^https?:/i.test(url) : isList(url)) {
    const endpoints = typeof url === "string" ? endpointsOf(url) : (url as readonly string[]);
    return HttpElector.open({ ...options, endpoints });
  }
  const source = typeof url === "string" ? url : (url as StoreConnection);
  const scheme = typeof source === "string" ? schemeOf(source) : schemeOfConnection(source);
  checkKeys(options, "", OF_STORES);
  const { clock, random, driftRatio, waitForStoreMs = DEFAULT_WAIT_FOR_STORE_MS } = options;
  if (driftRatio !== undefined) checkNumber(driftRatio, "driftRatio", 0, 0.2);
  checkInteger(waitForStoreMs, "waitForStoreMs", 0, MAX_WAIT_FOR_STORE_MS);
  const store = await openStore(withBucketCreation(scheme, source, options), {
    clock,
    waitMs: waitForStoreMs,
  });
  return owning(
    StoreElector.open({
      store,
      keepMembers: true,
      ...(clock === undefined ? {} : { clock }),
      ...(random === undefined ? {} : { random }),
      ...(driftRatio === undefined ? {} : { driftRatio }),
    }),
    store,
  );
}

function isList(url: unknown): boolean {
  return Array.isArray(url);
}

function schemeOfConnection(given: StoreConnection): string {
  const scheme = ["nats", "postgres"].find((each) => isObject(given) && each in given);
  if (scheme !== undefined) return scheme;
  throw new InvalidRequestError(
    "url",
    "must be a URL, a list of URLs, { nats: connection, bucket } or { postgres: pool }",
  );
}

/** In lower case. The rest of the URL is not shown in an error message: it may contain a password. */
function schemeOf(url: string): string {
  const [, given = ""] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? [];
  const scheme = given.toLowerCase();
  if (STORE_SCHEMES.includes(scheme)) return scheme;
  const known = ["http", "https", ...STORE_SCHEMES].map((each) => `${each}:`).join(", ");
  const but = scheme === "" ? "" : `, not "${scheme}:"`;
  throw new InvalidRequestError("url", `must begin with one of ${known}${but}`);
}

/** `http://a:7420,b:7420/path`: scheme and path apply to all hosts. A comma-separated list of whole URLs is accepted too. */
function endpointsOf(url: string): readonly string[] {
  const [first = "", ...rest] = url.split(",");
  if (rest.every((each) => /^https?:/i.test(each))) return [first, ...rest];
  const [, scheme = "", hosts = "", path = ""] = /^(https?:\/\/)([^/?#]*)(.*)$/i.exec(url) ?? [];
  return hosts.split(",").map((host) => scheme + host + path);
}

function withBucketCreation(
  scheme: string,
  source: string | StoreConnection,
  { bucketAutoCreate }: OpenElectorOptions,
): Source {
  if (bucketAutoCreate === undefined) return source;
  if (scheme !== "nats") {
    throw new InvalidRequestError(
      "bucketAutoCreate",
      `is only valid for NATS, and this is ${scheme}; remove it`,
    );
  }
  if (typeof bucketAutoCreate !== "boolean") {
    throw new InvalidRequestError("bucketAutoCreate", "must be true or false");
  }
  if (typeof source !== "string") return { ...source, create: bucketAutoCreate };
  return `${source}${source.includes("?") ? "&" : "?"}create=${bucketAutoCreate}`;
}

type Source = string | (StoreConnection & { readonly create?: boolean });

interface StoreWait {
  readonly clock: Clock | undefined;
  readonly waitMs: number;
}

async function openStore(source: Source, wait: StoreWait): Promise<Store> {
  // Needs no other package.
  if (typeof source === "string" && /^memory:$/i.test(source)) return new MemoryStore();
  const stores = await import("@tenure/stores").catch((cause: unknown) => {
    if ((cause as { code?: unknown } | null)?.code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const problem = `is a store, which needs a package that is not installed: npm install @tenure/stores`;
    throw new InvalidRequestError("url", problem, { cause });
  });
  return stores.openStore(source, wait);
}

/** Closes the elector first, because it still writes while it closes. */
function owning(elector: StoreElector, store: Store): ElectorAdmin {
  const closeElector = elector.close.bind(elector);
  const closeBoth = async (): Promise<void> => {
    await closeElector();
    await store.close();
  };
  let closed: Promise<void> | null = null;
  return Object.assign(elector, { close: () => (closed ??= closeBoth()) });
}
