/** `POST /v1/campaign`. */
import { afterEach, expect, test } from "vitest";
import { ADMIN_TOKEN, cleanUp, faulty, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

const anyNumber = expect.any(Number) as number;
const message = expect.any(String) as string;
const of = (group_id: string, more: object = {}) => ({
  group_id,
  node_id: "a",
  instance_start_uuid: "a-1",
  lease_ttl_ms: 5000,
  ...more,
});

test("campaigns in one request are answered in their order, each as if sent alone", async () => {
  const service = await serve();
  await service.campaign("taken", "b", { metadata: { zone: "z" } });
  await service.post("/v1/groups", { group_id: "closed", allowed_nodes: ["c"] });
  const campaigns = [
    of("w/1", { priority: 3, metadata: { zone: "y" } }),
    of("taken"),
    of("short", { lease_ttl_ms: 1 }),
    of("closed"),
    of(".."),
    of("x"),
  ];
  const { status, body } = await service.post("/v1/campaign", { campaigns });
  expect(status).toBe(200);
  const lease = { term: 1, lease_expires_at_ms: anyNumber };
  const refused = (group_id: string, error: string) => ({ group_id, ok: false, error, message });
  expect(body["results"]).toStrictEqual([
    { group_id: "w/1", is_leader: true, leader: { node_id: "a", ...lease } },
    { group_id: "taken", is_leader: false, leader: { node_id: "b", ...lease }, retry_after_ms: anyNumber },
    { ...refused("short", "INVALID_TTL"), field: "lease_ttl_ms", min_ttl_ms: 500, max_ttl_ms: 60_000 },
    refused("closed", "UNAUTHORIZED"),
    { ...refused("..", "INVALID_REQUEST"), field: "group_id", problem: 'must not be "." or ".."' },
    { group_id: "x", is_leader: true, leader: { node_id: "a", ...lease } },
  ]);
  expect((await service.leader("w/1")).body).toMatchObject({ leader: { metadata: { zone: "y" } } });
  const again = await service.post("/v1/campaign", { campaigns: [of("x")] });
  expect(again.body["results"]).toMatchObject([{ is_leader: true, confirmed: true, leader: { term: 1 } }]);
  const headers = { prefer: "leader-metadata" };
  const full = await service.post("/v1/campaign", { campaigns: [of("taken")] }, { headers });
  expect(full.body["results"]).toMatchObject([{ leader: { metadata: { zone: "z" } } }]);
});

test("a caller wins the campaigns of a batch that it may win, whatever the others are", async () => {
  const { service, bearer } = await serveKnown();
  const node = service.as(await bearer({ sub: "a", groups: ["team-*"] }));
  const { body } = await node.post("/v1/campaign", {
    campaigns: [of("other"), of("team-1"), of("team-2", { node_id: "b" })],
  });
  expect(body["results"]).toMatchObject([
    { group_id: "other", ok: false, error: "UNAUTHORIZED" },
    { group_id: "team-1", is_leader: true },
    { group_id: "team-2", ok: false, error: "UNAUTHORIZED" },
  ]);
  expect((await service.as(ADMIN_TOKEN).leader("other")).body).toMatchObject({ leader: null, term: 0 });
  expect((await service.post("/v1/campaign", { campaigns: [of("team-1")] })).status).toBe(401);
});

test("a batch of campaigns has 1 to 1000 in a MiB, without waits or repeated groups", async () => {
  const service = await serve();
  const ask = (campaigns: unknown) => service.post("/v1/campaign", { campaigns });
  expect((await ask([of("g", { wait_ms: 5 })])).body).toMatchObject({ field: "campaigns[0].wait_ms" });
  expect((await ask([of("g"), of("h"), of("g")])).body).toMatchObject({
    error: "INVALID_REQUEST",
    field: "campaigns[2].group_id",
    message: "campaigns[2].group_id is named twice",
  });
  expect((await ask([])).status).toBe(400);
  const many = Array.from({ length: 1001 }, (_, index) => of(`${"g".repeat(190)}${index}`));
  expect((await ask(many)).status).toBe(400);
  const { body } = await ask(many.slice(1));
  expect((body["results"] as { is_leader?: boolean }[]).filter((each) => each.is_leader)).toHaveLength(1000);
  const text = JSON.stringify({ campaigns: [of("fits")] });
  expect((await service.post("/v1/campaign", text.padEnd(1_048_576))).status).toBe(200);
  expect((await service.post("/v1/campaign", text.padEnd(1_048_577))).status).toBe(413);
});

test("campaigns in one request are charged by their number, and a debt has to be waited for", async () => {
  const { service, bearer } = await serveKnown({ rateLimit: 5 });
  const node = service.as(await bearer({ sub: "a", groups: ["*"] }));
  const campaigns = Array.from({ length: 200 }, (_, index) => of(`g${index}`));
  const { body } = await node.post("/v1/campaign", { campaigns });
  expect(body["results"]).toMatchObject(campaigns.map(({ group_id }) => ({ group_id, is_leader: true })));
  expect((await node.leader("g1")).status).toBe(429);
});

test("a store outage is reported for each campaign of a batch, and the route has its own latency metric", async () => {
  const { store, goOut } = faulty();
  const service = await serve({}, { store });
  goOut();
  const { status, body } = await service.post("/v1/campaign", { campaigns: [of("g"), of("h")] });
  expect(status).toBe(200);
  expect(body["results"]).toMatchObject([
    { group_id: "g", ok: false, error: "BACKEND_UNAVAILABLE" },
    { group_id: "h", ok: false, error: "BACKEND_UNAVAILABLE" },
  ]);
  await service.untilMetric('request_latency_ms_count{route="/v1/campaign",method="POST",status="200"}', 1);
});
