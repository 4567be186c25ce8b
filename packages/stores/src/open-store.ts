import { InvalidRequestError, MemoryStore, type Store } from "@tenure/core";

/** What follows the colon is the engine's own. Each is loaded when it is asked for, and not before. */
const ENGINES: Readonly<Record<string, (rest: string, url: string) => Promise<Store>>> = {
  memory: openMemory,
  embedded: openEmbedded,
  etcd: openEtcd,
  nats: openNats,
  postgres: openPostgres,
  postgresql: openPostgres,
  zookeeper: openZookeeper,
};

/**
 * Opens the store that a URL names. Of what follows only a server is required:
 *
 * - `memory:`
 * - `embedded:DIR`
 * - `etcd://user:password@a:2379,b:2379/prefix?tls=true&ca=FILE&cert=FILE&key=FILE&max_txn_ops=128`
 * - `nats://user:password@a:4222,b:4222/bucket?replicas=3&create=false&tls=true&ca=FILE&cert=FILE&key=FILE&creds=FILE`
 * - `postgres://user:password@a:5432,b:5432/database?schema=tenure&sslmode=verify-full`
 * - `zookeeper://user:password@a:2181,b:2181/path?session_timeout_ms=6000&tls=true&ca=FILE&cert=FILE&key=FILE`
 */
export async function openStore(url: string): Promise<Store> {
  const match = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url);
  const [scheme = "", rest = ""] = match?.slice(1) ?? [];
  const open = Object.hasOwn(ENGINES, scheme.toLowerCase()) ? ENGINES[scheme.toLowerCase()] : undefined;
  if (open === undefined) {
    const known = Object.keys(ENGINES).map((each) => `${each}:`);
    throw new InvalidRequestError(
      "store",
      // Never the whole of it: what follows may hold a password.
      `must begin with ${known.join(" or ")}, not ${JSON.stringify(scheme)}`,
    );
  }
  return open(rest, url);
}

function openMemory(rest: string): Promise<Store> {
  if (rest !== "") throw new InvalidRequestError("store", "must be memory: with nothing after it");
  return Promise.resolve(new MemoryStore());
}

async function openEmbedded(rest: string): Promise<Store> {
  // embedded:DIR, and what people write who are used to two slashes.
  const directory = rest.replace(/^\/\/(?=\/|\.)/, "");
  if (directory === "") throw new InvalidRequestError("store", "must name a directory: embedded:DIR");
  const { EmbeddedStore } = await import("./embedded/index.js");
  return EmbeddedStore.open({ directory });
}

async function openEtcd(_rest: string, url: string): Promise<Store> {
  const { EtcdStore, parseEtcdUrl } = await import("./etcd/index.js");
  return EtcdStore.open(parseEtcdUrl(url));
}

async function openNats(_rest: string, url: string): Promise<Store> {
  const { NatsStore, parseNatsUrl } = await import("./nats/index.js");
  return NatsStore.open(parseNatsUrl(url));
}

async function openPostgres(_rest: string, url: string): Promise<Store> {
  const { parsePostgresUrl, PostgresStore } = await import("./postgres/index.js");
  return PostgresStore.open(parsePostgresUrl(url));
}

async function openZookeeper(_rest: string, url: string): Promise<Store> {
  const { parseZookeeperUrl, ZookeeperStore } = await import("./zookeeper/index.js");
  return ZookeeperStore.open(parseZookeeperUrl(url));
}
