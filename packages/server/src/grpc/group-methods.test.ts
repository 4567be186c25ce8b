import { afterEach, expect, it } from "vitest";
import { cleanUp } from "../http/service.test-kit.js";
import { type Reply, serveGrpc } from "./grpc.test-kit.js";

afterEach(cleanUp);

const A = { group_id: "g", node_id: "a", lease_ttl_ms: 5000 };

it("gRPC creates, shows, changes, lists and deletes groups as HTTP does", async () => {
  const { http, grpc } = await serveGrpc();
  const policy = { min_ttl_ms: 1000, strategy: "priority", preempt: true, retry: { jitter: 0.5 } };
  const created = await grpc.call("Groups/Create", {
    group_id: "g",
    policy,
    allowed_nodes: { node_ids: ["a"] },
  });
  expect(created).toMatchObject({
    group_id: "g",
    policy,
    allowed_nodes: { node_ids: ["a"] },
    explicit: true,
  });
  const { body } = await http.get("/v1/groups/g");
  expect(body).toMatchObject({ policy, allowed_nodes: ["a"], explicit: true });
  expect(await grpc.call("Groups/Get", { group_id: "g" })).toEqual(created);
  expect(await grpc.ask("Groups/Create", { group_id: "g" })).toMatchObject({
    status: "FAILED_PRECONDITION",
    error: { error: "CONFLICT" },
  });
  const updated = await grpc.call("Groups/Update", { group_id: "g", policy: { preempt: false } });
  expect(updated).toMatchObject({ policy: { min_ttl_ms: 1000 }, allowed_nodes: { node_ids: ["a"] } });
  expect(await grpc.call("Groups/List", { prefix: "g" })).toEqual({ groups: [updated] });
  expect(await grpc.call("Groups/Delete", { group_id: "g" })).toEqual({ ok: true });
  expect((await grpc.call("Groups/List", {}))["groups"] ?? []).toEqual([]);
});

it("allowed_nodes of gRPC distinguishes all nodes, no node and some nodes", async () => {
  const { http, grpc } = await serveGrpc();
  const allowed = async () => (await http.get("/v1/groups/g")).body["allowed_nodes"];
  await grpc.call("Groups/Create", { group_id: "g" });
  expect(await allowed()).toBeNull();
  await grpc.call("Groups/Update", { group_id: "g", allowed_nodes: {} });
  expect(await allowed()).toEqual([]);
  expect(await grpc.ask("Election/Campaign", A)).toMatchObject({ status: "PERMISSION_DENIED" });
  await grpc.call("Groups/Update", { group_id: "g", allow_all_nodes: true });
  expect(await allowed()).toBeNull();
  const both = { group_id: "g", allow_all_nodes: true, allowed_nodes: { node_ids: ["a"] } };
  expect(await grpc.ask("Groups/Update", both)).toMatchObject({
    status: "INVALID_ARGUMENT",
    error: { field: "allow_all_nodes" },
  });
});

interface Page {
  readonly groups: readonly { readonly group_id: string }[];
  readonly cursor?: string;
}

it("gRPC lists groups in pages", async () => {
  const { grpc } = await serveGrpc();
  for (const group_id of ["a", "b", "c"]) await grpc.call("Groups/Create", { group_id });
  const first = await grpc.call<Page>("Groups/List", { limit: 2, cursor: "" });
  const rest = await grpc.call<Page>("Groups/List", { limit: 2, cursor: first.cursor });
  const ids = [first, rest].map(({ groups }) => groups.map(({ group_id }) => group_id));
  expect(ids).toEqual([["a", "b"], ["c"]]);
  expect(rest.cursor).toBeUndefined();
});

it("gRPC refuses to delete a led group without force", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  expect(await grpc.ask("Groups/Delete", { group_id: "g" })).toMatchObject({ error: { error: "CONFLICT" } });
  expect(await grpc.call("Groups/Delete", { group_id: "g", force: true })).toEqual({ ok: true });
  expect((await grpc.call("Election/Campaign", A))["leader"]).toMatchObject({ term: 2 });
});

it("gRPC shows members with their metadata", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const beat = { group_id: "g", node_id: "o", metadata: '{"zone":"b"}' };
  expect(await grpc.call("Groups/Heartbeat", beat)).toEqual({ ok: true });
  const { members } = await grpc.call("Groups/Members", { group_id: "g" });
  expect(members).toContainEqual(expect.objectContaining({ node_id: "a", role: "leader" }));
  expect(members).toContainEqual(
    expect.objectContaining({ node_id: "o", role: "observer", metadata: '{"zone":"b"}' }),
  );
});

it("gRPC prefers a ready candidate to a cold one, and transfers to a cold one only if that is allowed", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const waiting = grpc.call("Election/Campaign", { ...A, node_id: "b", wait_ms: 60_000, ready: false });
  await http.untilMetric("waiting_campaigns", 1);
  const { members } = await grpc.call<{ members: Reply[] }>("Groups/Members", { group_id: "g" });
  expect(members.map(({ node_id, ready }) => [node_id, ready])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  for (const request of [{ group_id: "g", to_node_id: "b" }, { group_id: "g" }]) {
    expect((await grpc.ask("Groups/Transfer", request)).status).toBe("FAILED_PRECONDITION");
  }
  const transfer = grpc.call("Groups/Transfer", { group_id: "g", allow_cold: true });
  const renewal = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };
  while ((await grpc.call("Election/Renew", renewal))["transfer_to"] !== "b");
  await grpc.call("Election/Resign", { group_id: "g", node_id: "a", term: 1 });
  expect(await transfer).toMatchObject({ ok: true, leader: { node_id: "b", term: 2 } });
  expect(await waiting).toMatchObject({ is_leader: true });
  await grpc.call("Groups/Heartbeat", { group_id: "g", node_id: "b", ready: true });
  const health = await grpc.call<{ members: Reply[] }>("Groups/Health", { group_id: "g" });
  expect(health.members).toContainEqual(expect.objectContaining({ node_id: "b", ready: true }));
});

it("gRPC deposes a leader, and the history shows it", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const act = { group_id: "g", reason: "drill", ban_ms: 60_000, force: true };
  expect(await grpc.call("Groups/StepDown", act)).toEqual({ ok: true });
  const { events } = await grpc.call<{ events: Reply[] }>("Groups/History", { group_id: "g" });
  expect(events).toMatchObject([
    { type: "LEADER_CHANGED", group_id: "g", term: 1, leader_node_id: "a", reason: "none" },
    { type: "LEADER_LOST", term: 1, previous_leader_node_id: "a", reason: "deposed", by: "loopback" },
  ]);
  expect(events[1]?.["leader_node_id"]).toBeUndefined();
  const banned = await grpc.call("Election/Campaign", A);
  expect(banned["held_back"]).toBeDefined();
});

it("gRPC transfers the leadership to a waiting node", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const waiting = grpc.call("Election/Campaign", { ...A, node_id: "b", wait_ms: 60_000 });
  await http.untilMetric("waiting_campaigns", 1);
  const transfer = grpc.call("Groups/Transfer", { group_id: "g", to_node_id: "b" });
  const renewal = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };
  while ((await grpc.call("Election/Renew", renewal))["transfer_to"] !== "b");
  await grpc.call("Election/Resign", { group_id: "g", node_id: "a", term: 1 });
  expect(await transfer).toMatchObject({ ok: true, leader: { node_id: "b", term: 2 } });
  expect(await waiting).toMatchObject({ is_leader: true });
  const nobody = await grpc.ask("Groups/Transfer", { group_id: "g", to_node_id: "c", timeout_ms: 50 });
  expect(nobody).toMatchObject({ status: "FAILED_PRECONDITION", error: { error: "CONFLICT" } });
});

it("no candidate wins through gRPC while the group is paused", async () => {
  const { grpc } = await serveGrpc();
  expect(await grpc.call("Groups/Pause", { group_id: "g", for_ms: 60_000, create: true })).toEqual({
    ok: true,
  });
  const group = await grpc.call("Groups/Get", { group_id: "g" });
  expect(group).toMatchObject({ paused: true });
  expect(group["paused_for_ms"]).toBeGreaterThan(0);
  expect(await grpc.call("Election/Campaign", A)).toMatchObject({ held_back: "paused" });
  expect(await grpc.call("Groups/Resume", { group_id: "g" })).toEqual({ ok: true });
  expect(await grpc.call("Election/Campaign", A)).toMatchObject({ is_leader: true });
});

it("gRPC shows the health of members, and numbers the events of the history", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", { ...A, metadata: '{"zone":"b"}' });
  expect(await grpc.call("Groups/Health", { group_id: "g" })).toMatchObject({
    members: [{ node_id: "a", role: "leader", state: "healthy", metadata: '{"zone":"b"}' }],
  });
  expect(await grpc.call("Groups/History", { group_id: "g" })).toMatchObject({
    events: [{ type: "LEADER_CHANGED", number: 1 }],
  });
});

it("gRPC accepts a reason for every operator action, and identifies the caller", async () => {
  const { grpc } = await serveGrpc();
  const reason = "drill";
  await grpc.call("Groups/Create", { group_id: "g" });
  for (const method of ["Groups/Update", "Groups/Pause", "Groups/Resume"]) {
    await grpc.call(method, { group_id: "g", reason });
  }
  const transfer = await grpc.ask("Groups/Transfer", { group_id: "g", to_node_id: "b", reason });
  expect(transfer.status).toBe("FAILED_PRECONDITION");
  expect(await grpc.ask("Groups/Pause", { group_id: "g", reason: "x".repeat(501) })).toMatchObject({
    status: "INVALID_ARGUMENT",
    error: { field: "reason" },
  });
  expect(await grpc.call("Operations/Whoami", {})).toEqual({
    name: "loopback",
    role: "admin",
    all_groups: true,
  });
  expect(await grpc.call("Operations/Keys", {})).toEqual({});
});
