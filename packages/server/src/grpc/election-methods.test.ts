import { afterEach, expect, it } from "vitest";
import { cleanUp } from "../http/service.test-kit.js";
import { GrpcClient, type Reply, serveGrpc } from "./grpc.test-kit.js";

afterEach(cleanUp);

const A = { group_id: "g", node_id: "a", lease_ttl_ms: 5000 };

it("a leader elected through gRPC is read through HTTP, and the other way round", async () => {
  const { http, grpc } = await serveGrpc();
  const metadata = { zone: "a", weight: 3, deep: [{ text: "ü" }] };
  const request = { ...A, metadata: JSON.stringify(metadata), priority: 0 };
  const won = await grpc.call("Election/Campaign", request);
  expect(won).toMatchObject({ is_leader: true, leader: { node_id: "a", term: 1 } });
  expect((await http.leader("g")).body).toMatchObject({
    leader: { node_id: "a", term: 1, metadata },
    term: 1,
  });
  await http.campaign("h", "b", { metadata });
  const seen = await grpc.call<{ leader: { metadata: string } }>("Election/Leader", { group_id: "h" });
  expect(seen).toMatchObject({ leader: { node_id: "b", term: 1 }, term: 1 });
  expect(JSON.parse(seen.leader.metadata)).toEqual(metadata);
});

it("gRPC returns metadata of any depth that HTTP accepted", async () => {
  const { http, grpc } = await serveGrpc();
  const metadata = { deep: JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`) as unknown };
  expect((await http.campaign("g", "a", { metadata })).status).toBe(200);
  const seen = await grpc.call("Election/Leader", { group_id: "g" });
  expect(seen["leader"]).toHaveProperty("metadata", JSON.stringify(metadata));
});

it("a lost gRPC campaign returns the leader and when to try again", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const lost = await grpc.call("Election/Campaign", { ...A, node_id: "b" });
  expect(lost).toMatchObject({ leader: { node_id: "a", term: 1 } });
  expect(lost["is_leader"] ?? false).toBe(false);
  expect(lost["retry_after_ms"]).toBeGreaterThan(0);
});

it("a waiting gRPC campaign is answered when the leader resigns", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const waiting = grpc.call("Election/Campaign", { ...A, node_id: "b", wait_ms: 60_000 });
  await http.untilMetric("waiting_campaigns", 1);
  expect(await grpc.call("Election/Resign", { group_id: "g", node_id: "a", term: 1 })).toEqual({ ok: true });
  const won = await waiting;
  expect(won).toMatchObject({ is_leader: true, leader: { node_id: "b", term: 2 } });
  expect(won["waited_ms"]).toBeGreaterThanOrEqual(0);
});

it("gRPC renews for the leader, and refuses other nodes with the leader's name", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const renewal = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };
  expect(await grpc.call("Election/Renew", renewal)).toMatchObject({ ok: true, leader: { term: 1 } });
  const refused = await grpc.ask("Election/Renew", { ...renewal, node_id: "b" });
  expect(refused.status).toBe("FAILED_PRECONDITION");
  expect(refused.error).toMatchObject({ error: "NOT_LEADER", current_leader: { node_id: "a", term: 1 } });
});

it("RenewMany of gRPC answers each renewal independently", async () => {
  const { grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const renewals = [
    { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 },
    { group_id: "h", node_id: "a", term: 1, extend_by_ms: 5000 },
  ];
  const { results } = await grpc.call<{ results: Reply[] }>("Election/RenewMany", { renewals });
  expect(results[0]).toMatchObject({ group_id: "g", ok: true, leader: { node_id: "a", term: 1 } });
  expect(results[1]).toMatchObject({ group_id: "h", error: "NOT_LEADER" });
  expect(results[1]?.["ok"] ?? false).toBe(false);
  expect(await grpc.ask("Election/RenewMany", {})).toMatchObject({ status: "OK" });
});

it("gRPC accepts a thousand renewals in one message, and not one more", async () => {
  const { grpc } = await serveGrpc();
  const renewals = Array.from({ length: 1001 }, (_, index) => ({
    group_id: `${index}-${"x".repeat(190)}`,
    node_id: "n".repeat(200),
    term: 1,
    extend_by_ms: 5000,
  }));
  const { results } = await grpc.call<{ results: Reply[] }>("Election/RenewMany", {
    renewals: renewals.slice(1),
  });
  expect(results).toHaveLength(1000);
  const refused = await grpc.ask("Election/RenewMany", { renewals });
  expect(refused).toMatchObject({ status: "INVALID_ARGUMENT", error: { field: "renewals" } });
});

it("a local gRPC read returns its age, and an unknown group has no leader", async () => {
  const { grpc } = await serveGrpc();
  const local = await grpc.call("Election/Leader", { group_id: "g", consistency: "local" });
  expect(local["age_ms"] ?? 0).toBeGreaterThanOrEqual(0);
  const answer = await grpc.call("Election/Leader", { group_id: "never" });
  expect(answer["leader"] ?? null).toBeNull();
  expect(answer["term"] ?? 0).toBe(0);
});

it("a cancelled gRPC campaign leaves the queue", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const waiting = grpc.begin("Election/Campaign", { ...A, node_id: "b", wait_ms: 60_000 });
  await http.untilMetric("waiting_campaigns", 1);
  waiting.cancel();
  expect((await waiting.answer).status).toBe("CANCELLED");
  await http.untilMetric("waiting_campaigns", 0);
  await grpc.call("Election/Resign", { group_id: "g", node_id: "a", term: 1 });
  expect((await http.leader("g")).body["leader"]).toBeNull();
});

it("a gRPC campaign whose deadline has passed leaves the queue", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  const request = { ...A, node_id: "b", wait_ms: 60_000 };
  const late = await grpc.ask("Election/Campaign", request, { deadline: Date.now() + 100 });
  expect(late.status).toBe("DEADLINE_EXCEEDED");
  await http.untilMetric("waiting_campaigns", 0);
});

it("no gRPC campaign stays in the queue, whenever it is cancelled", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  for (let round = 0; round < 60; round++) {
    const waiting = grpc.begin("Election/Campaign", { ...A, node_id: `n${round}`, wait_ms: 60_000 });
    // Not at once: grpc-js as a client then reports "cancelled" and still sends the call.
    for (let turn = 0; turn <= round % 12; turn++) await new Promise((resolve) => setImmediate(resolve));
    waiting.cancel();
    await waiting.answer;
  }
  await http.untilMetric("waiting_campaigns", 0);
  await grpc.call("Election/Resign", { group_id: "g", node_id: "a", term: 1 });
  expect((await http.leader("g")).body["leader"]).toBeNull();
});

it("CampaignMany of gRPC answers each campaign independently, with its metadata, and refuses each on its own", async () => {
  const { http, grpc } = await serveGrpc();
  await http.campaign("taken", "z");
  const of = (group_id: string, more: object = {}) => ({
    group_id,
    node_id: "a",
    lease_ttl_ms: 5000,
    ...more,
  });
  const { results } = await grpc.call<{ results: object[] }>("Election/CampaignMany", {
    campaigns: [of("g1", { metadata: '{"zone":"b"}' }), of("taken"), of("g2", { lease_ttl_ms: 1 })],
  });
  expect(results).toMatchObject([
    { group_id: "g1", is_leader: true, leader: { node_id: "a", term: 1 } },
    { group_id: "taken", is_leader: false, leader: { node_id: "z" } },
    { group_id: "g2", ok: false, error: "INVALID_TTL", field: "lease_ttl_ms", min_ttl_ms: 500 },
  ]);
  expect((await http.leader("g1")).body).toMatchObject({ leader: { metadata: { zone: "b" } } });
  expect(
    await grpc.ask("Election/CampaignMany", { campaigns: [of("g"), of("h", { metadata: "{" })] }),
  ).toMatchObject({ status: "INVALID_ARGUMENT", error: { field: "campaigns[1].metadata" } });
});

it("gRPC confirms a holder, and shows the leader's metadata to callers that prefer it", async () => {
  const { address, grpc } = await serveGrpc();
  const campaign = { group_id: "g", node_id: "a", lease_ttl_ms: 5000, metadata: '{"zone":"b"}' };
  await grpc.call("Election/Campaign", campaign);
  expect(await grpc.call("Election/Campaign", campaign)).toMatchObject({ is_leader: true, confirmed: true });
  const preferring = new GrpcClient(address, undefined, { prefer: "leader-metadata" });
  const other = { ...campaign, node_id: "b" };
  expect(await preferring.call("Election/Campaign", other)).toMatchObject({
    is_leader: false,
    leader: { node_id: "a", metadata: '{"zone":"b"}' },
  });
  const brief = await grpc.call<{ leader: object }>("Election/Campaign", other);
  expect(brief.leader).not.toHaveProperty("metadata");
});
