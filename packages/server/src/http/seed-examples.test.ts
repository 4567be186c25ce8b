/** The examples of the API's first description, sent to a running service: same keys, same types. */
import { afterEach, expect, test } from "vitest";
import { cleanUp, type Service, serve } from "./service.test-kit.js";

afterEach(cleanUp);

const NODE_17 = {
  node_id: "node_17",
  lease_ttl_ms: 5000,
  metadata: { ip: "10.0.1.7", zone: "az-a", version: "1.4.2" },
};
const anyNumber = expect.any(Number) as number;

async function ledBy17(): Promise<Service> {
  const service = await serve();
  await service.post("/v1/groups/payments-coordinator/campaign", NODE_17);
  return service;
}

test("a campaign that wins is answered as in the specification", async () => {
  const service = await serve();
  const before = Date.now();
  const { status, body } = await service.post("/v1/groups/payments-coordinator/campaign", NODE_17);
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    is_leader: true,
    leader: { node_id: "node_17", term: 1, lease_expires_at_ms: anyNumber },
  });
  const { lease_expires_at_ms } = body["leader"] as { lease_expires_at_ms: number };
  expect(lease_expires_at_ms).toBeGreaterThanOrEqual(before + 5000);
  expect(lease_expires_at_ms).toBeLessThanOrEqual(Date.now() + 5000 * 1.02);
});

test("a lost campaign is answered as in the specification", async () => {
  const service = await ledBy17();
  const { status, body } = await service.campaign("payments-coordinator", "node_03");
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    is_leader: false,
    leader: { node_id: "node_17", term: 1, lease_expires_at_ms: anyNumber },
    retry_after_ms: anyNumber,
  });
});

test("a holder that campaigns again keeps its term, and its lease starts again", async () => {
  const service = await ledBy17();
  const { body } = await service.post("/v1/groups/payments-coordinator/campaign", {
    ...NODE_17,
    lease_ttl_ms: 50_000,
  });
  expect(body).toMatchObject({ is_leader: true, leader: { node_id: "node_17", term: 1 } });
  const again = await service.campaign("payments-coordinator", "node_17", { instance_start_uuid: "another" });
  expect(again.body).toMatchObject({ is_leader: false });
});

test("a renewal and a fenced renewal are answered as in the specification", async () => {
  const service = await ledBy17();
  const url = "/v1/groups/payments-coordinator/renew";
  const renewal = { node_id: "node_17", term: 1, extend_by_ms: 5000 };
  const renewed = await service.post(url, renewal);
  expect([renewed.status, renewed.body]).toStrictEqual([
    200,
    { ok: true, leader: { node_id: "node_17", term: 1, lease_expires_at_ms: anyNumber } },
  ]);
  await service.resign("payments-coordinator", "node_17", 1);
  await service.campaign("payments-coordinator", "node_03");
  const fenced = await service.post(url, renewal);
  expect([fenced.status, fenced.body]).toStrictEqual([
    409,
    {
      ok: false,
      error: "NOT_LEADER",
      message: expect.any(String) as string,
      current_leader: { node_id: "node_03", term: 2 },
    },
  ]);
});

test("a resignation, and its repetition after a lost answer, are answered as in the specification", async () => {
  const service = await ledBy17();
  const body = { node_id: "node_17", term: 1 };
  for (let times = 0; times < 2; times++) {
    const answer = await service.post("/v1/groups/payments-coordinator/resign", body);
    expect([answer.status, answer.body]).toStrictEqual([200, { ok: true }]);
  }
});

test("the leader is read as in the specification", async () => {
  const service = await ledBy17();
  const { status, body } = await service.get("/v1/groups/payments-coordinator/leader");
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    leader: {
      node_id: "node_17",
      term: 1,
      lease_expires_at_ms: anyNumber,
      metadata: NODE_17.metadata,
    },
    term: 1,
  });
});

test("an event of a watch has the form of the specification", async () => {
  const service = await ledBy17();
  const { body } = await service.get("/v1/groups/payments-coordinator/watch");
  expect(body).toStrictEqual({
    cursor: "1",
    events: [
      {
        type: "LEADER_CHANGED",
        group_id: "payments-coordinator",
        term: 1,
        leader_node_id: "node_17",
        ts_ms: anyNumber,
        previous_leader_node_id: null,
        reason: "none",
      },
    ],
  });
});

test("a created group and its members are shown as in the specification", async () => {
  const service = await serve();
  const group = {
    group_id: "payments-coordinator",
    policy: { min_ttl_ms: 2000, max_ttl_ms: 15_000 },
    allowed_nodes: ["node_01", "node_02", "node_03"],
  };
  const created = await service.post("/v1/groups", group);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject(group);
  await service.campaign("payments-coordinator", "node_01", { metadata: { zone: "az-a" } });
  const { body } = await service.get("/v1/groups/payments-coordinator/members");
  expect(body).toStrictEqual({
    members: [
      // `ready` was added to that shape.
      {
        node_id: "node_01",
        role: "leader",
        ready: true,
        last_heartbeat_ms: anyNumber,
        metadata: { zone: "az-a" },
      },
    ],
  });
});
