import { afterEach, expect, it } from "vitest";
import { cleanUp } from "../http/service.test-kit.js";
import { type GrpcClient, serveGrpc, SleepyReader } from "./grpc.test-kit.js";

afterEach(cleanUp);

const A = { group_id: "g", node_id: "a", lease_ttl_ms: 5000 };

async function lead(grpc: GrpcClient, term: number): Promise<void> {
  await grpc.call("Election/Campaign", A);
  await grpc.call("Election/Resign", { group_id: "g", node_id: "a", term });
}

it("a gRPC watch begins with the current state, then delivers each change", async () => {
  const { grpc } = await serveGrpc();
  const stream = grpc.stream("Election/Watch", { group_id: "g" });
  expect((await stream.next()).event).toMatchObject({ type: "LEADER_LOST", group_id: "g", reason: "none" });
  await lead(grpc, 1);
  const changed = (await stream.next()).event;
  expect(changed).toMatchObject({ type: "LEADER_CHANGED", term: 1, leader_node_id: "a" });
  const lost = (await stream.next()).event;
  expect(lost).toMatchObject({ type: "LEADER_LOST", previous_leader_node_id: "a", reason: "resigned" });
  expect(lost.leader_node_id).toBeUndefined();
});

it("a gRPC watch resumes from a cursor, its own or one of HTTP, without a gap or a repetition", async () => {
  const { http, grpc } = await serveGrpc();
  const stream = grpc.stream("Election/Watch", { group_id: "g" });
  await stream.next();
  await lead(grpc, 1);
  const { cursor } = await stream.next();
  stream.call.cancel();
  await lead(grpc, 2);
  const { body } = await http.get(`/v1/groups/g/watch?cursor=${cursor}&timeout_ms=0`);
  const resumed = grpc.stream("Election/Watch", { group_id: "g", cursor });
  const items = [await resumed.next(), await resumed.next(), await resumed.next()];
  expect(items.map(({ event }) => [event.type, event.term])).toEqual([
    ["LEADER_LOST", 1],
    ["LEADER_CHANGED", 2],
    ["LEADER_LOST", 2],
  ]);
  expect(items.at(-1)?.cursor).toBe(body["cursor"]);
});

it("a gRPC watch of all groups can be resumed", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const stream = grpc.stream("Election/WatchAll", { cursor: "" });
  const first = await stream.next();
  expect(first.event).toMatchObject({ type: "LEADER_CHANGED", group_id: "g", leader_node_id: "a" });
  await grpc.call("Election/Campaign", { ...A, group_id: "h" });
  const second = await stream.next();
  expect(second.event).toMatchObject({ group_id: "h" });
  const resumed = grpc.stream("Election/WatchAll", { cursor: first.cursor });
  expect(await resumed.next()).toEqual(second);
});

it("a gRPC watch refuses a malformed cursor", async () => {
  const { grpc } = await serveGrpc();
  for (const cursor of ["x", "-1", "1.5", "99999999999999999"]) {
    const stream = grpc.stream("Election/Watch", { group_id: "g", cursor });
    stream.call.resume();
    expect(await stream.end).toMatchObject({ status: "INVALID_ARGUMENT", error: { field: "cursor" } });
  }
});

it("a gRPC watch ends when its reader cancels or its connection ends", async () => {
  const { http, grpc } = await serveGrpc();
  const streams = ["g", "h"].map((group_id) => grpc.stream("Election/Watch", { group_id }));
  for (const stream of streams) await stream.next();
  expect(await http.metric("open_watches")).toBe(2);
  streams[0]?.call.cancel();
  await http.untilMetric("open_watches", 1);
  grpc.client.close();
  streams[1]?.call.cancel();
  await http.untilMetric("open_watches", 0);
});

it("a slow gRPC reader buffers nothing, and gets the current state when it reads again", async () => {
  const { http, grpc, address } = await serveGrpc();
  // Long names, so that few events fill what HTTP/2 lets a server send to a client that does not read.
  const group_id = "g".repeat(200);
  const node_id = "n".repeat(200);
  const reader = new SleepyReader(address, "Election/Watch", { group_id });
  await http.untilMetric("open_watches", 1);
  const terms = 400;
  for (let term = 1; term <= terms; term++) {
    await grpc.call("Election/Campaign", { ...A, group_id, node_id });
    await grpc.call("Election/Resign", { group_id, node_id, term });
  }
  const types: string[] = [];
  for await (const { event } of reader.wakeUp()) {
    types.push(event.type);
    if (event.term === terms && event.type !== "LEADER_CHANGED") break;
  }
  expect(types).toContain("RESYNC");
  expect(types.length).toBeLessThan(terms);
});

it("when the server stops, gRPC watches end with UNAVAILABLE and a waiting campaign is answered", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const stream = grpc.stream("Election/Watch", { group_id: "g" });
  await stream.next();
  const waiting = grpc.ask("Election/Campaign", { ...A, node_id: "b", wait_ms: 60_000 });
  await http.untilMetric("waiting_campaigns", 1);
  const closed = http.server.close();
  stream.call.resume();
  const end = await stream.end;
  expect(end).toMatchObject({ status: "UNAVAILABLE", error: { error: "BACKEND_UNAVAILABLE" } });
  const answer = await waiting;
  expect(answer).toMatchObject({ status: "OK", body: { leader: { node_id: "a" } } });
  expect(answer.body["is_leader"] ?? false).toBe(false);
  await closed;
  expect((await grpc.ask("Election/Leader", { group_id: "g" })).status).toBe("UNAVAILABLE");
});

interface ManyItem {
  readonly event?: { readonly group_id: string; readonly type: string; readonly number: number };
  readonly refusal?: { readonly group_id: string; readonly error: string };
}

it("a gRPC watch of many groups has one stream, a cursor per group, and refuses each group on its own", async () => {
  const { http, grpc } = await serveGrpc({ explicitGroups: true });
  for (const group_id of ["g", "h"]) await http.post("/v1/groups", { group_id });
  await lead(grpc, 1);
  const stream = grpc.stream("Election/WatchMany", {
    watches: [{ group_id: "g", cursor: 1 }, { group_id: "h" }, { group_id: "unknown" }],
  });
  const items: ManyItem[] = [];
  for (let count = 0; count < 3; count++) items.push((await stream.next()) as unknown as ManyItem);
  expect(items).toHaveLength(3);
  expect(items.find((item) => item.event?.group_id === "g")).toMatchObject({
    event: { type: "LEADER_LOST", number: 2 },
  });
  expect(items.find((item) => item.event?.group_id === "h")).toMatchObject({
    event: { type: "LEADER_LOST", reason: "none" },
  });
  expect(items.find((item) => item.refusal !== undefined)).toMatchObject({
    refusal: { group_id: "unknown", error: "GROUP_NOT_FOUND" },
  });
  await http.campaign("h", "b");
  expect(await stream.next()).toMatchObject({ event: { group_id: "h", type: "LEADER_CHANGED", number: 1 } });
  stream.call.cancel();
  await http.untilMetric("open_watches", 0);
});
