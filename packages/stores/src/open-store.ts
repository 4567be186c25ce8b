/**
 * Opens a store by its URL: the scheme selects the engine, and the rest belongs to the engine. The code of an engine, and the library
 * that it needs, is loaded when a URL of its scheme is opened. If an engine over the network cannot be reached, `openStore` fails
 * or returns a store that opens the engine in the background (`DeferredStore`).
 */
import { type Clock, InvalidRequestError, MemoryStore, type Store } from "@tenure/core";
import { checkInteger, isObject } from "@tenure/core/internal";
import { DeferredStore, type DeferredStoreOptions } from "./deferred-store.js";
import type { NatsConnectionLike } from "./nats/connection-like.js";
import type { PgPoolLike } from "./postgres/pool-like.js";
import type { StoreOpener } from "./store-opener.js";

export interface OpenStoreOptions extends DeferredStoreOptions {
  /**
   * What to do about an engine that cannot be reached. `fail`: reject with `BackendUnavailableError`. `wait`: resolve to a
   * store that opens the engine in the background, and refuses calls with `BackendUnavailableError` until then. What can
   * never work (a wrong URL, option or credential, a server that is too old) rejects with `InvalidRequestError` in
   * both cases, and `embedded:` never waits: its disk is here or not.
   *
   * @defaultValue "fail"
   */
  readonly ifUnreachable?: "fail" | "wait" | undefined;
  /**
   * With `ifUnreachable: "fail"`: repeat the attempt for this long before rejecting. From 0, a single attempt, to 86,400,000. A
   * server that is too slow to start is not waited for if it is too low; if it is too high, a wrong address is reported late.
   *
   * @defaultValue 0
   */
  readonly waitMs?: number | undefined;
}

const MAX_WAIT_MS = 86_400_000;

/** A connection or a pool that belongs to the program, and where the store is in it. Closing the store leaves it open. */
export type StoreConnection =
  /** Of `@nats-io/transport-node`; the other options are those of `NatsStore`. */
  | {
      readonly nats: NatsConnectionLike;
      readonly bucket: string;
      readonly replicas?: number | undefined;
      readonly create?: boolean | undefined;
    }
  /** A `Pool` of `pg`; the other options are those of `PostgresStore`. */
  | {
      readonly postgres: PgPoolLike;
      readonly schema?: string;
      readonly poolSize?: number;
      readonly pollMs?: number;
      readonly migrate?: boolean;
      readonly listen?: boolean;
    };

type Engine =
  /** Within this machine: there is nothing to wait for. */
  | { readonly kind: "local"; open(rest: string, clock: Clock | undefined): Promise<Store> }
  | { readonly kind: "remote"; driver(url: string): Promise<StoreOpener> };

const POSTGRES: Engine = { kind: "remote", driver: postgresDriver };

/** By scheme. The rest of a URL belongs to its engine. */
const ENGINES: Readonly<Record<string, Engine>> = {
  memory: { kind: "local", open: openMemory },
  embedded: { kind: "local", open: openEmbedded },
  etcd: { kind: "remote", driver: etcdDriver },
  nats: { kind: "remote", driver: natsDriver },
  postgres: POSTGRES,
  postgresql: POSTGRES,
  zookeeper: { kind: "remote", driver: zookeeperDriver },
};

/**
 * Opens the store that a URL names, or that a connection of the program leads to: `{ nats: connection, bucket }`,
 * `{ postgres: pool }`. Of what follows only a server is required:
 *
 * - `memory:`
 * - `embedded:DIR`
 * - `etcd://user:password@a:2379,b:2379/prefix?tls=true&ca=FILE&cert=FILE&key=FILE&max_txn_ops=128`
 * - `nats://user:password@a:4222,b:4222/bucket?replicas=3&create=false&tls=true&ca=FILE&cert=FILE&key=FILE&creds=FILE`
 * - `postgres://user:password@a:5432,b:5432/database?schema=tenure&sslmode=verify-full`
 * - `zookeeper://user:password@a:2181,b:2181/path?session_timeout_ms=6000&tls=true&ca=FILE&cert=FILE&key=FILE`
 */
export async function openStore(
  url: string | StoreConnection,
  options: OpenStoreOptions = {},
): Promise<Store> {
  const { waitMs = 0 } = options;
  checkInteger(waitMs, "waitMs", 0, MAX_WAIT_MS);
  if (typeof url !== "string") return openDriver(await connectionDriver(url), options);
  const match = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url);
  const [scheme = "", rest = ""] = match?.slice(1) ?? [];
  const engine = Object.hasOwn(ENGINES, scheme.toLowerCase()) ? ENGINES[scheme.toLowerCase()] : undefined;
  if (engine === undefined) {
    const known = Object.keys(ENGINES).map((each) => `${each}:`);
    throw new InvalidRequestError(
      "store",
      // Never the whole of it: what follows may hold a password.
      `must begin with ${known.join(" or ")}, not ${JSON.stringify(scheme)}`,
    );
  }
  if (engine.kind === "local") return engine.open(rest, options.clock);
  return openDriver(await engine.driver(url), options);
}

function openDriver(
  driver: StoreOpener,
  { ifUnreachable, waitMs = 0, ...options }: OpenStoreOptions,
): Promise<Store> {
  if (ifUnreachable === "wait") return DeferredStore.open(driver, options);
  return DeferredStore.openWithin(driver, waitMs, options);
}

async function connectionDriver(given: StoreConnection): Promise<StoreOpener> {
  if (isObject(given) && "nats" in given) {
    const { nats: connection, ...rest } = given;
    const { NatsStore } = await import("./nats/index.js");
    return NatsStore.opener({ ...rest, connection });
  }
  if (isObject(given) && "postgres" in given) {
    const { postgres: pool, ...rest } = given;
    const { PostgresStore } = await import("./postgres/index.js");
    return PostgresStore.opener({ ...rest, pool });
  }
  throw new InvalidRequestError("store", "must be a URL, { nats: connection, bucket } or { postgres: pool }");
}

function openMemory(rest: string): Promise<Store> {
  if (rest !== "") throw new InvalidRequestError("store", "must be memory: with nothing after it");
  return Promise.resolve(new MemoryStore());
}

async function openEmbedded(rest: string, clock: Clock | undefined): Promise<Store> {
  // embedded:DIR, and what people write who are used to two slashes.
  const directory = rest.replace(/^\/\/(?=\/|\.)/, "");
  if (directory === "") throw new InvalidRequestError("store", "must name a directory: embedded:DIR");
  const { EmbeddedStore } = await import("./embedded/index.js");
  return EmbeddedStore.open({ directory, ...(clock === undefined ? {} : { clock }) });
}

async function etcdDriver(url: string): Promise<StoreOpener> {
  const { EtcdStore, parseEtcdUrl } = await import("./etcd/index.js");
  return EtcdStore.opener(parseEtcdUrl(url));
}

async function natsDriver(url: string): Promise<StoreOpener> {
  const { NatsStore, parseNatsUrl } = await import("./nats/index.js");
  return NatsStore.opener(parseNatsUrl(url));
}

async function postgresDriver(url: string): Promise<StoreOpener> {
  const { parsePostgresUrl, PostgresStore } = await import("./postgres/index.js");
  return PostgresStore.opener(parsePostgresUrl(url));
}

async function zookeeperDriver(url: string): Promise<StoreOpener> {
  const { parseZookeeperUrl, ZookeeperStore } = await import("./zookeeper/index.js");
  return ZookeeperStore.opener(parseZookeeperUrl(url));
}
