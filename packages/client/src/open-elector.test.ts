import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreElector } from "@tenure/core";
import { connect } from "@nats-io/transport-node";
import { freePorts, isMissing, startNats, startPostgres } from "@tenure/engines";
import { openStore } from "@tenure/stores";
import { Pool } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { HttpElector } from "./http/http-elector.js";
import { cleanUp, later, listening } from "./observer/to-leader.test-kit.js";
import { openElector, type OpenElectorOptions } from "./open-elector.js";

afterEach(cleanUp);

/** A server that answers who leads, and the paths of its requests. */
async function service(): Promise<{ address: string; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ leader: null, term: 3 }));
  });
  return { address: await listening(server), paths };
}

async function deadAddress(): Promise<string> {
  const [port] = await freePorts(1);
  return `127.0.0.1:${port}`;
}

describe("openElector with the servers of a service", () => {
  const forms: [string, (dead: string, live: string) => string | string[]][] = [
    ["hosts with commas between them", (dead, live) => `http://${dead},${live}`],
    ["URLs with commas between them", (dead, live) => `http://${dead},http://${live}`],
    ["a list of URLs", (dead, live) => [`http://${dead}`, `http://${live}`]],
  ];
  test.each(forms)("openElector tries each server of the service, given as %s", async (_form, url) => {
    const { address, paths } = await service();
    // The first server is tried first.
    const elector = await openElector(url(await deadAddress(), address), { random: () => 0 });
    later(() => elector.close());
    expect(elector).toBeInstanceOf(HttpElector);
    expect(await elector.leader("g")).toMatchObject({ leader: null, term: 3 });
    expect(paths).toEqual(["/v1/groups/g/leader"]);
  });

  test("a path in the URL applies to all its hosts", async () => {
    const { address, paths } = await service();
    const elector = await openElector(`http://${await deadAddress()},${address}/tenure`, { random: () => 0 });
    later(() => elector.close());
    await elector.leader("g");
    expect(paths).toEqual(["/tenure/v1/groups/g/leader"]);
  });

  test("openElector passes its options on to HttpElector", async () => {
    await expect(openElector("http://a", { tokenFile: "there-is-no-such-file" })).rejects.toThrow(
      /tokenFile/,
    );
  });
});

describe("openElector with a store", () => {
  test("memory: opens an elector within this process, which closes with it", async () => {
    const elector = await openElector("memory:");
    expect(elector).toBeInstanceOf(StoreElector);
    const result = await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: 1000 });
    expect(result.kind).toBe("elected");
    await Promise.all([elector.close(), elector.close(), elector[Symbol.asyncDispose]()]);
    await expect(elector.leader("g")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("closing the elector closes its store, whose directory can be opened again with its data", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tenure-open-elector-"));
    later(() => rm(directory, { recursive: true }));
    const first = await openElector(`embedded:${directory}`);
    await first.campaign({ groupId: "g", nodeId: "a", ttlMs: 1000 });
    await expect(openElector(`embedded:${directory}`)).rejects.toThrow();
    await first.close();
    const second = await openElector(`embedded:${directory}`);
    later(() => second.close());
    expect(await second.leader("g")).toMatchObject({ leader: { nodeId: "a" }, term: 1 });
  });

  test.skipIf(isMissing("nats"))(
    "bucketAutoCreate decides whether a missing NATS bucket is created",
    async () => {
      const engine = await startNats();
      later(() => engine.stop());
      const url = engine.urlOf("leaders");
      const missing = openElector(url, { bucketAutoCreate: false });
      await expect(missing).rejects.toThrow(/does not exist/);
      await expect(missing).rejects.toThrow(/bucketAutoCreate: true/);
      const made = await openElector(url, { bucketAutoCreate: true });
      await made.campaign({ groupId: "g", nodeId: "a", ttlMs: 60_000 });
      await made.close();
      const found = await openElector(`${url}?replicas=1`, { bucketAutoCreate: false });
      later(() => found.close());
      expect(await found.leader("g")).toMatchObject({ leader: { nodeId: "a" }, term: 1 });
    },
  );
});

describe("openElector with a store that cannot be reached", () => {
  test.skipIf(isMissing("nats"))("openElector waits until the engine of the store answers", async () => {
    const engine = await startNats();
    later(() => engine.stop());
    await engine.nodes[0]?.kill();
    const opening = openElector(engine.urlOf("late"));
    opening.catch(() => {});
    await engine.nodes[0]?.start();
    const elector = await opening;
    later(() => elector.close());
    expect((await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: 1000 })).kind).toBe("elected");
  });

  test("openElector rejects with the reason after waitForStoreMs, and at once if that is 0", async () => {
    const address = await deadAddress();
    for (const waitForStoreMs of [0, 300]) {
      const refused = openElector(`nats://${address}/b`, { waitForStoreMs });
      await expect(refused).rejects.toMatchObject({ code: "BACKEND_UNAVAILABLE" });
      await expect(refused).rejects.toThrow(new RegExp(`${address}.*ECONNREFUSED`));
    }
  });

  test.skipIf(isMissing("nats"))(
    "openElector rejects at once if the engine refuses the credentials",
    async () => {
      const engine = await startNats({ config: "authorization: { token: right }" });
      later(() => engine.stop());
      const url = `nats://wrong@127.0.0.1:${engine.ports[0]}/b`;
      await expect(openElector(url)).rejects.toMatchObject({ code: "INVALID_REQUEST", field: "store" });
    },
  );
});

describe("openElector with the program's own connection", () => {
  test.skipIf(isMissing("nats"))(
    "openElector elects over a given NATS connection, and leaves it open when it closes",
    async () => {
      const engine = await startNats();
      later(() => engine.stop());
      const nats = await connect({ servers: `127.0.0.1:${engine.ports[0]}` });
      later(() => nats.close());
      const closed = { bucketAutoCreate: false };
      await expect(openElector({ nats, bucket: "b" }, closed)).rejects.toThrow(/does not exist/);
      const elector = await openElector({ nats, bucket: "b" });
      expect((await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: 60_000 })).kind).toBe("elected");
      await elector.close();
      expect(nats.isClosed()).toBe(false);
      const other = await openElector(engine.urlOf("b"));
      later(() => other.close());
      expect(await other.leader("g")).toMatchObject({ leader: { nodeId: "a" } });
    },
  );

  test.skipIf(isMissing("postgres"))(
    "openElector elects over a given pg pool, and leaves it open when it closes",
    async () => {
      const engine = await startPostgres();
      later(() => engine.stop());
      const postgres = new Pool({ connectionString: engine.url });
      later(() => postgres.end());
      const elector = await openElector({ postgres, schema: "leaders" });
      expect((await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: 60_000 })).kind).toBe("elected");
      await elector.close();
      expect(postgres.idleCount).toBe(postgres.totalCount);
      const { rows } = await postgres.query("SELECT count(*)::int AS n FROM leaders.entry");
      expect(rows).toEqual([{ n: expect.any(Number) as number }]);
    },
  );

  test.each<[string, object, object]>([
    ["url", { redis: {} }, {}],
    ["connection", { nats: {}, bucket: "b" }, {}],
    ["pool", { postgres: {} }, {}],
    ["bucketAutoCreate", { postgres: {} }, { bucketAutoCreate: true }],
    ["token", { nats: {}, bucket: "b" }, { token: "x" }],
  ])("openElector refuses a wrong connection or option by name: %s of %j", async (field, source, options) => {
    const opening = openElector(source as never, options);
    await expect(opening).rejects.toMatchObject({ code: "INVALID_REQUEST", field });
  });
});

test("openElector knows the schemes of all stores, and lists them if the scheme is unknown", async () => {
  const unknown = "redis://a";
  const told = async (opening: Promise<unknown>) => String(await opening.catch((error: unknown) => error));
  const ofStores = (await told(openStore(unknown))).match(/\b[a-z]+(?=: or |:,)/g) ?? [];
  expect(ofStores.length).toBeGreaterThan(5);
  const message = await told(openElector(unknown));
  expect(ofStores.filter((scheme) => !message.includes(`${scheme}:`))).toEqual([]);
  expect(message).toContain('not "redis:"');
  expect(message).not.toContain("npm install");
});

test.each<[string, string | string[], object]>([
  ["url", "billing", {}],
  ["url", "", {}],
  ["endpoints", [], {}],
  ["endpoints[0]", ["etcd://a"], {}],
  ["url", "redis://a", {}],
  ["waitForStoreMs", "memory:", { waitForStoreMs: -1 }],
  ["waitForStoreMs", "nats://a/b", { waitForStoreMs: "1s" }],
  ["waitForStoreMs", "http://a", { waitForStoreMs: 1000 }],
  ["store", "memory:x", {}],
  ["bucketAutoCreate", "memory:", { bucketAutoCreate: true }],
  ["bucketAutoCreate", "nats://a", { bucketAutoCreate: "no" }],
  ["bucketAutoCreate", "http://a", { bucketAutoCreate: true }],
  ["token", "memory:", { token: "x" }],
  ["driftRatio", "memory:", { driftRatio: 2 }],
  ["driftRatio", "http://a", { driftRatio: 0.01 }],
])("openElector refuses a wrong URL or option by name: %s of %j", async (field, url, options) => {
  await expect(openElector(url, options as OpenElectorOptions)).rejects.toMatchObject({
    code: "INVALID_REQUEST",
    field,
  });
});
