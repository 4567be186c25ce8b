/** Watches of the client's elector across failures of every kind: no event is missed or repeated. */
import { type ElectorAdmin, UnauthorizedError } from "@tenure/core";
import { freePorts } from "@tenure/engines";
import { afterEach, expect, test } from "vitest";
import { candidate, elector, proxied, Reader, recordRequests } from "./http-elector.test-kit.js";
import { ADMIN_TOKEN, cleanUp, memory, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

/** Two events: won and resigned. */
async function handOver(client: ElectorAdmin, groupId: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const result = await client.campaign(candidate(groupId, "a"));
    await client.resign({ groupId, nodeId: "a", term: result.leader?.term ?? 0 });
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("a watch continues across a restart of its server with everything that happened meanwhile", async () => {
  const store = memory();
  const writer = await elector([(await serve({}, { store })).url]);
  const [port] = await freePorts(1);
  const listen = `127.0.0.1:${port}`;
  const first = await serve({ listen }, { store });
  const client = await elector([first.url]);
  const watch = new Reader(client.watch("g"));
  await writer.campaign(candidate("led", "n"));
  const all = new Reader(client.watchAll());
  expect(await all.next()).toMatchObject({ groupId: "led" });
  expect(await watch.next()).toMatchObject({ type: "LEADER_LOST", cursor: 0 });
  await handOver(writer, "g", 2);
  expect(await watch.cursors(4)).toEqual([1, 2, 3, 4]);
  for (let i = 0; i < 4; i++) await all.next();
  await first.server.close();
  await handOver(writer, "g", 10);
  await serve({ listen }, { store });
  expect(await watch.cursors(20)).toEqual(upTo(24).slice(4));
  // A server that has just started knows the states of all groups, and not the order of earlier events.
  const states = [await all.next(), await all.next()];
  expect(states.map(({ type, groupId, term }) => `${type} ${groupId} ${term}`).toSorted()).toEqual([
    "RESYNC g 12",
    "RESYNC led 1",
  ]);
  await handOver(writer, "g", 1);
  expect(await watch.cursors(2)).toEqual([25, 26]);
  expect(await all.next()).toMatchObject({ type: "LEADER_CHANGED", term: 13 });
});

test("a watch continues at the other server each time its own is cut off", async () => {
  const store = memory();
  const [one, other] = [await serve({}, { store }), await serve({}, { store })];
  const [near, far] = [await proxied(one.url), await proxied(other.url)];
  const client = await elector([near.url, far.url]);
  const writer = await elector([one.url]);
  const watch = new Reader(client.watch("g"));
  await watch.next();
  const reading = watch.cursors(60);
  for (const { proxy } of [near, far, near, far, near]) {
    await handOver(writer, "g", 6);
    proxy.cut();
    proxy.mend();
  }
  expect(await reading).toEqual(upTo(60));
});

test("watches of one group share a connection, whatever their cursors", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  await handOver(client, "g", 1);
  const first = new Reader(client.watch("g"));
  await first.next();
  const second = new Reader(client.watch("g"));
  expect(await second.next()).toMatchObject({ type: "LEADER_LOST", cursor: 2, reason: "resigned" });
  const third = new Reader(client.watch("g", { cursor: 2 }));
  const [next, requests] = [third.next(), recordRequests()];
  await handOver(client, "g", 3);
  expect((await next).cursor).toBe(3);
  for (const reader of [first, second]) expect(await reader.cursors(6)).toEqual([3, 4, 5, 6, 7, 8]);
  expect(await third.cursors(5)).toEqual([4, 5, 6, 7, 8]);
  expect(await service.metric("open_watches")).toBe(1);
  expect(requests.filter((each) => each.includes("watch"))).toEqual([]);
  // A watch from an older cursor has its own connection.
  const early = new Reader(client.watch("g", { cursor: 0 }));
  expect(await early.cursors(8)).toEqual(upTo(8));
  expect(await service.metric("open_watches")).toBe(2);
  for (const reader of [first, second, third, early]) await reader.stop();
  await service.untilMetric("open_watches", 0);
});

/** Streams of groups that were opened so far. */
const streamsIn = (requests: readonly string[]) =>
  requests.filter((each) => each === "POST /v1/watch").length;

test("all watches of a process share connections, a thousand groups in each", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const requests = recordRequests();
  const groups = Array.from({ length: 1500 }, (_, index) => `g${index}`);
  const readers = groups.map((group) => new Reader(client.watch(group)));
  const states = await Promise.all(readers.map((reader) => reader.next()));
  expect(states.map(({ groupId }) => groupId)).toEqual(groups);
  expect(streamsIn(requests)).toBe(2);
  expect(await service.metric("open_watches")).toBe(1500);
  await handOver(client, "g7", 2);
  await handOver(client, "g1400", 1);
  expect(await readers[7]?.cursors(4)).toEqual(upTo(4));
  expect(await readers[1400]?.cursors(2)).toEqual(upTo(2));
  await Promise.all(readers.map((reader) => reader.stop()));
  await service.untilMetric("open_watches", 0);
});

test("watches that start one after the other are merged into shared connections, without lost or repeated events", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const writer = await elector([service.url]);
  const requests = recordRequests();
  const readers: Reader[] = [];
  const starts: number[] = [];
  for (const index of upTo(40)) {
    const reader = new Reader(client.watch(`g${index}`));
    starts.push((await reader.next()).cursor);
    readers.push(reader);
    await handOver(writer, `g${Math.ceil(index / 2)}`, 1);
  }
  // One request for each new watch, which took over those that were open.
  expect(streamsIn(requests)).toBe(40);
  await service.untilMetric("open_watches", 40);
  // Two rounds of each of the first twenty, some before it was watched: from its state on, in order.
  for (const [index, reader] of readers.slice(0, 20).entries()) {
    const seen = starts[index] ?? 0;
    expect(await reader.cursors(4 - seen)).toEqual(upTo(4).slice(seen));
  }
});

test("a refused group does not affect other watches, and ending most watches reduces those at the service", async () => {
  const { service, bearer } = await serveKnown();
  const token = await bearer({ sub: "n", role: "node", groups: ["mine-*"] });
  const client = await elector([service.url], { token });
  const mine = upTo(10).map((index) => new Reader(client.watch(`mine-${index}`)));
  const theirs = new Reader(client.watch("theirs")).next();
  await expect(theirs).rejects.toThrow(UnauthorizedError);
  for (const reader of mine) await reader.next();
  for (const reader of mine.slice(1)) await reader.stop();
  const admin = service.as(ADMIN_TOKEN);
  await admin.untilMetric("open_watches", 1);
  await client.campaign(candidate("mine-1", "n"));
  expect(await mine[0]?.next()).toMatchObject({ cursor: 1, leaderNodeId: "n" });
});

test("a reader slower than the group's changes misses nothing that the service keeps, and then gets a RESYNC", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const [fast, slow, slowest] = [1, 2, 3].map(() => new Reader(client.watch("g"))) as [
    Reader,
    Reader,
    Reader,
  ];
  for (const reader of [fast, slow, slowest]) await reader.next();
  await handOver(client, "g", 20);
  expect(await fast.cursors(40)).toEqual(upTo(40));
  expect(await slow.cursors(20)).toEqual(upTo(20));
  await handOver(client, "g", 20);
  expect(await fast.cursors(40)).toEqual(upTo(80).slice(40));
  expect(await slow.cursors(60)).toEqual(upTo(80).slice(20));
  expect(await slowest.next()).toMatchObject({ type: "RESYNC", cursor: 80 });
  await handOver(client, "g", 1);
  for (const reader of [fast, slow, slowest]) expect(await reader.cursors(2)).toEqual([81, 82]);
});

test("a cursor ahead of all events gets a RESYNC, even on a shared connection", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  await client.campaign(candidate("g", "a"));
  await new Reader(client.watch("g")).next();
  const ahead = new Reader(client.watch("g", { cursor: 1000 }));
  expect(await ahead.next()).toMatchObject({ type: "RESYNC", cursor: 1, leaderNodeId: "a" });
});

test("the states of all groups come with one cursor, from which no event is missed", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  for (const group of ["a", "b", "c"]) await client.campaign(candidate(group, "n"));
  const all = new Reader(client.watchAll());
  const states = [await all.next(), await all.next(), await all.next()];
  expect(states.map(({ groupId }) => groupId).toSorted()).toEqual(["a", "b", "c"]);
  expect(new Set(states.map(({ cursor }) => cursor)).size).toBe(1);
  const next = all.next();
  await client.resign({ groupId: "b", nodeId: "n", term: 1 });
  expect(await next).toMatchObject({ groupId: "b", type: "LEADER_LOST" });
  const again = new Reader(client.watchAll({ cursor: states[0]?.cursor }));
  expect(await again.next()).toMatchObject({ groupId: "b", type: "LEADER_LOST" });
});

test("a watch without permission ends with the refusal at once", async () => {
  const { service, bearer } = await serveKnown();
  const client = await elector([service.url], {
    token: await bearer({ sub: "n", role: "node", groups: ["mine"] }),
  });
  await expect(new Reader(client.watch("theirs")).next()).rejects.toThrow(UnauthorizedError);
  expect(await new Reader(client.watch("mine")).next()).toMatchObject({ cursor: 0 });
});

test("a reader that leaves while it waits ends at once", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const iterator = client.watch("g")[Symbol.asyncIterator]();
  await iterator.next();
  const waiting = iterator.next();
  await iterator.return?.();
  expect((await waiting).done).toBe(true);
  await service.untilMetric("open_watches", 0);
});

test("an aborted or closed watch closes its connection, even while it is not read", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const controller = new AbortController();
  const idle = [
    client.watch("g", { signal: controller.signal }),
    client.watchAll({ signal: controller.signal }),
  ];
  await client.campaign(candidate("g", "a"));
  const iterators = idle.map((each) => each[Symbol.asyncIterator]());
  for (const iterator of iterators) await iterator.next();
  await service.untilMetric("open_watches", 2);
  const reason = new Error("seen enough");
  controller.abort(reason);
  await service.untilMetric("open_watches", 0);
  for (const iterator of iterators) await expect(iterator.next()).rejects.toBe(reason);
  await client.watch("g")[Symbol.asyncIterator]().next();
  await client.watchAll()[Symbol.asyncIterator]().next();
  await service.untilMetric("open_watches", 2);
  await client.close();
  await service.untilMetric("open_watches", 0);
});
