/** The registry over HTTP when it has more entries than one answer can hold: tombstones are never removed. */
import type { AddressInfo } from "node:net";
import { MemoryStore } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import { VirtualClock } from "@tenure/core/testing";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import { MAX_ENDPOINT_LENGTH } from "../membership/endpoint.js";
import { MAX_VERSION_JUMP, type RmEntry, RmRegistry } from "../registry/rm-registry.js";
import { TestNode, TTL_MS } from "./node.test-kit.js";
import { nodeRegistry, type NodeRegistryParts } from "./node-registry.js";
import { MAX_ANSWER_BYTES, PeerCalls } from "./peer-calls.js";
import { PeerLog } from "./peer-log.js";
import { rmRoutes, type RmRouteParts } from "./rm-routes.js";

const clock = new VirtualClock();
/** Each field at its maximum length. */
const HASH = "h".repeat(LIMITS.idLength);
const NAME = "n".repeat(LIMITS.idLength);
const COUNT = 2000;

/** Tombstones, except for the last. */
const entryOf = (index: number): RmEntry => {
  const host = `https://${String(index).padStart(5, "0")}`;
  return {
    backendHash: HASH,
    endpoint: host.padEnd(MAX_ENDPOINT_LENGTH, "a"),
    isRegistered: index === COUNT - 1,
    version: { n: MAX_VERSION_JUMP, by: NAME },
  };
};

async function registryOf(count: number): Promise<RmRegistry> {
  const records = await OwnRecords.open(new MemoryStore());
  const registry = new RmRegistry({ identity: "n1", records, clock });
  await registry.merge(Array.from({ length: count }, (_, index) => entryOf(index)));
  return registry;
}

let app: FastifyInstance;
let calls: PeerCalls;
beforeEach(async () => {
  app = Fastify();
  calls = new PeerCalls({ clock, lingerMs: TTL_MS, trustDomain: null, tls: null });
});
afterEach(async () => {
  calls.close();
  await app.close();
});

/** A server with that registry, which any caller may read. */
async function serving(registry: RmRegistry): Promise<string> {
  rmRoutes(app, { registry, offices: { reader: () => {} } } as unknown as RmRouteParts);
  await app.listen({ host: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

it("a server that was away receives every entry of a registry larger than an answer may be", async () => {
  const theirs = await registryOf(COUNT);
  expect(JSON.stringify(theirs.entries()).length).toBeGreaterThan(MAX_ANSWER_BYTES);
  const to = await serving(theirs);
  const mine = await registryOf(0);
  let caughtUp = (): void => {};
  const isCaughtUp = new Promise<void>((resolve) => (caughtUp = resolve));
  const membership = {
    endpoints: () => [to],
    // A leaving server compares registries and registers nowhere. The test looks right after the comparison.
    get leaving(): boolean {
      caughtUp();
      return true;
    },
  };
  const { registration } = nodeRegistry({
    options: TestNode.options,
    disk: "d",
    clock,
    calls,
    membership,
    registry: mine,
    log: new PeerLog({ info: () => {}, warn: () => {} }),
  } as unknown as NodeRegistryParts);
  registration.start();
  await isCaughtUp;
  await registration.stop();
  expect(mine.entries()).toHaveLength(COUNT);
  expect(mine.endpoints()).toEqual([entryOf(COUNT - 1).endpoint]);
});

it("registered endpoints are listed to operators, however many were removed before", async () => {
  const theirs = await registryOf(COUNT);
  const to = await serving(theirs);
  expect(await calls.ask(to, { method: "GET", path: "/v1/tc/rm/list" })).toMatchObject({
    backends: [{ backend_hash: HASH, endpoints: [entryOf(COUNT - 1).endpoint] }],
  });
});
