import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreElector } from "@tenure/core";
import { freePorts, isMissing, startNats } from "@tenure/engines";
import { afterEach, describe, expect, test } from "vitest";
import { HttpElector } from "./http/http-elector.js";
import { cleanUp, later, listening } from "./observer/to-leader.test-kit.js";
import { openElector, type OpenElectorOptions } from "./open-elector.js";

afterEach(cleanUp);

/** One server that answers who leads, and the paths it was asked for. */
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
  test.each(forms)("asks each of them: %s", async (_form, url) => {
    const { address, paths } = await service();
    // The first one is asked first.
    const elector = await openElector(url(await deadAddress(), address), { random: () => 0 });
    later(() => elector.close());
    expect(elector).toBeInstanceOf(HttpElector);
    expect(await elector.leader("g")).toMatchObject({ leader: null, term: 3 });
    expect(paths).toEqual(["/v1/groups/g/leader"]);
  });

  test("a path counts for all hosts", async () => {
    const { address, paths } = await service();
    const elector = await openElector(`http://${await deadAddress()},${address}/tenure`, { random: () => 0 });
    later(() => elector.close());
    await elector.leader("g");
    expect(paths).toEqual(["/tenure/v1/groups/g/leader"]);
  });

  test("passes its options on", async () => {
    await expect(openElector("http://a", { tokenFile: "there-is-no-such-file" })).rejects.toThrow(
      /tokenFile/,
    );
  });
});

describe("openElector with a store", () => {
  test("memory: is an election within this process, and closes with it", async () => {
    const elector = await openElector("memory:");
    expect(elector).toBeInstanceOf(StoreElector);
    const result = await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: 1000 });
    expect(result.kind).toBe("elected");
    await Promise.all([elector.close(), elector.close(), elector[Symbol.asyncDispose]()]);
    await expect(elector.leader("g")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("closing it closes the store: another may open its directory, and finds what was written", async () => {
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

  test.skipIf(isMissing("nats"))("bucketAutoCreate says whether a bucket of NATS is made", async () => {
    const engine = await startNats();
    later(() => engine.stop());
    const url = engine.urlOf("leaders");
    await expect(openElector(url, { bucketAutoCreate: false })).rejects.toThrow(/does not exist/);
    const made = await openElector(url, { bucketAutoCreate: true });
    await made.campaign({ groupId: "g", nodeId: "a", ttlMs: 60_000 });
    await made.close();
    const found = await openElector(`${url}?replicas=1`, { bucketAutoCreate: false });
    later(() => found.close());
    expect(await found.leader("g")).toMatchObject({ leader: { nodeId: "a" }, term: 1 });
  });
});

test.each<[string, string | string[], object]>([
  ["url", "billing", {}],
  ["url", "", {}],
  ["endpoints", [], {}],
  ["endpoints[0]", ["etcd://a"], {}],
  ["store", "redis://a", {}],
  ["store", "memory:x", {}],
  ["bucketAutoCreate", "memory:", { bucketAutoCreate: true }],
  ["bucketAutoCreate", "nats://a", { bucketAutoCreate: "no" }],
  ["bucketAutoCreate", "http://a", { bucketAutoCreate: true }],
  ["token", "memory:", { token: "x" }],
  ["driftRatio", "memory:", { driftRatio: 2 }],
  ["driftRatio", "http://a", { driftRatio: 0.01 }],
])("what can never be right is refused by name: %s of %j", async (field, url, options) => {
  await expect(openElector(url, options as OpenElectorOptions)).rejects.toMatchObject({
    code: "INVALID_REQUEST",
    field,
  });
});
