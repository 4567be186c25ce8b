import { afterEach, describe, expect, test } from "vitest";
import { generateKeyPairSync } from "node:crypto";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { VirtualClock } from "@tenure/core/testing";
import { temporaryFile } from "../auth/auth.test-kit.js";
import { ADMIN_TOKEN, cleanUp, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

describe("a waiting campaign over HTTP", () => {
  test("a waiting campaign is answered when it has won, with how long it waited", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const waiting = service.campaign("g", "b", { wait_ms: 60_000 });
    await service.untilMetric("waiting_campaigns", 1);
    await service.resign("g", "a", 1);
    expect((await waiting).body).toStrictEqual({
      is_leader: true,
      leader: { node_id: "b", term: 2, lease_expires_at_ms: expect.any(Number) as number },
      reason: "resigned",
      waited_ms: expect.any(Number) as number,
    });
  });

  test("a waiting campaign is answered with the leader at the end of its wait", async () => {
    const clock = new VirtualClock();
    const service = await serve({}, { clock: clock.process() });
    await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
    const waiting = service.campaign("g", "b", { wait_ms: 3000 });
    await service.untilMetric("waiting_campaigns", 1);
    await clock.advance(3001);
    expect((await waiting).body).toMatchObject({ is_leader: false, leader: { node_id: "a", term: 1 } });
  });

  test("a waiting campaign wins when the lease is over", async () => {
    const clock = new VirtualClock();
    const service = await serve({}, { clock: clock.process() });
    await service.campaign("g", "a", { lease_ttl_ms: 1000 });
    const waiting = service.campaign("g", "b", { wait_ms: 3000 });
    await service.untilMetric("waiting_campaigns", 1);
    await clock.advance(1011);
    expect((await waiting).body).toMatchObject({ is_leader: true, leader: { node_id: "b", term: 2 } });
  });

  test("a waiting campaign is not elected once its caller has disconnected, and the next in the queue is", async () => {
    const service = await serve();
    await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
    const gone = new AbortController();
    service.campaign("g", "b", { wait_ms: 60_000 }, { signal: gone.signal }).catch(() => {});
    await service.untilMetric("waiting_campaigns", 1);
    const next = service.campaign("g", "c", { wait_ms: 60_000 });
    await service.untilMetric("waiting_campaigns", 2);
    gone.abort();
    await service.untilMetric("waiting_campaigns", 1);
    await service.resign("g", "a", 1);
    expect((await next).body).toMatchObject({ is_leader: true, leader: { node_id: "c", term: 2 } });
    expect((await service.get("/v1/groups/g/history")).body).toMatchObject({
      events: [{ leader_node_id: "a" }, { leader_node_id: null }, { leader_node_id: "c" }],
    });
  });

  test("a waiting campaign above maxWaiting is refused, and one that does not wait is not", async () => {
    const service = await serve({ maxWaiting: 1 });
    await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
    const waiting = service.campaign("g", "b", { wait_ms: 60_000 });
    await service.untilMetric("waiting_campaigns", 1);
    const refused = await service.campaign("g", "c", { wait_ms: 60_000 });
    expect([refused.status, refused.body["error"]]).toEqual([429, "TOO_MANY_WAITING"]);
    expect((await service.campaign("g", "c")).body).toMatchObject({ is_leader: false });
    await service.resign("g", "a", 1);
    expect((await waiting).body).toMatchObject({ is_leader: true });
  });
});

describe("a vacant group that is held back", () => {
  test("a paused vacant group answers a campaign with no leader, and when to try again", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    await service.post("/v1/groups/g/pause", {});
    await service.resign("g", "a", 1);
    expect((await service.campaign("g", "b")).body).toMatchObject({
      is_leader: false,
      leader: null,
      retry_after_ms: expect.any(Number) as number,
    });
    await service.post("/v1/groups/g/resume");
    expect((await service.campaign("g", "b")).body).toMatchObject({ is_leader: true, leader: { term: 2 } });
  });
});

describe("a list of renewals over HTTP", () => {
  test("renewals in a list are answered in their order", async () => {
    const service = await serve();
    for (const group of ["w/1", "x", "y", "z"]) await service.campaign(group, "a");
    const renewal = { node_id: "a", term: 1, extend_by_ms: 5000 };
    const { status, body } = await service.post("/v1/renew", {
      renewals: [
        { group_id: "z", ...renewal },
        { group_id: "y", ...renewal, term: 7 },
        { group_id: "never", ...renewal },
        { group_id: "w/1", ...renewal, extend_by_ms: 0 },
        { group_id: "x", ...renewal, extend_by_ms: 100 },
      ],
    });
    expect(status).toBe(200);
    const bounds = { min_ttl_ms: 500, max_ttl_ms: 60_000, field: "extend_by_ms" };
    const message = expect.any(String) as string;
    expect(body["results"]).toStrictEqual([
      {
        group_id: "z",
        ok: true,
        leader: { node_id: "a", term: 1, lease_expires_at_ms: expect.any(Number) as number },
      },
      { group_id: "y", ok: false, error: "NOT_LEADER", message, current_leader: { node_id: "a", term: 1 } },
      { group_id: "never", ok: false, error: "NOT_LEADER", message, current_leader: null },
      { group_id: "w/1", ok: false, error: "INVALID_TTL", message, ...bounds },
      { group_id: "x", ok: false, error: "INVALID_TTL", message, ...bounds },
    ]);
    expect(await service.metric('renew_failures_total{reason="NOT_LEADER"}')).toBe(2);
    expect(await service.metric('renew_failures_total{reason="INVALID_TTL"}')).toBe(2);
  });

  test("renewals in a list that the caller may make succeed, whatever the others are", async () => {
    const { service, bearer } = await serveKnown();
    const admin = service.as(ADMIN_TOKEN);
    const node = service.as(await bearer({ sub: "a", groups: ["team-*"] }));
    for (const group of ["team-1", "other"]) await admin.campaign(group, "a");
    const renewal = { node_id: "a", term: 1, extend_by_ms: 5000 };
    const { body } = await node.post("/v1/renew", {
      renewals: [
        { group_id: "other", ...renewal },
        { group_id: "team-1", ...renewal },
        { group_id: "team-2", ...renewal, node_id: "b" },
      ],
    });
    expect(body["results"]).toMatchObject([
      { group_id: "other", ok: false, error: "UNAUTHORIZED" },
      { group_id: "team-1", ok: true },
      { group_id: "team-2", ok: false, error: "UNAUTHORIZED" },
    ]);
  });

  test("a list of a thousand renewals is accepted, and a longer one refused", async () => {
    const service = await serve();
    const renewals = Array.from({ length: 1001 }, (_, index) => ({
      group_id: `${"g".repeat(190)}${index}`,
      node_id: "n".repeat(200),
      term: 1,
      extend_by_ms: 5000,
    }));
    expect((await service.post("/v1/renew", { renewals })).status).toBe(400);
    const { body } = await service.post("/v1/renew", { renewals: renewals.slice(0, 1000) });
    expect(body["results"]).toHaveLength(1000);
  });
});

describe("GET leader", () => {
  test("an unknown group has no leader and term 0", async () => {
    const service = await serve();
    expect((await service.leader("g")).body).toStrictEqual({ leader: null, term: 0 });
    await service.campaign("g", "a");
    await service.resign("g", "a", 1);
    expect((await service.leader("g")).body).toStrictEqual({ leader: null, term: 1 });
  });

  test("a local read returns how old it may be", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const { body } = await service.get("/v1/groups/g/leader?consistency=local");
    expect(body).toStrictEqual({
      leader: {
        node_id: "a",
        term: 1,
        lease_expires_at_ms: expect.any(Number) as number,
        metadata: {},
      },
      term: 1,
      age_ms: expect.any(Number) as number,
    });
    expect((await service.get("/v1/groups/g/leader?consistency=linearizable")).body).not.toHaveProperty(
      "age_ms",
    );
  });

  test("metadata is returned as it was given", async () => {
    const service = await serve();
    const metadata = {
      "": null,
      "key with blanks": [1, -0.5, 1e300, true, { deep: [[["ü", "\u2028", "\ud83d\ude00"]]] }],
      toString: "x",
      constructor: 1,
      length: 5,
    };
    await service.campaign("g", "a", { metadata });
    const { body } = await service.leader("g");
    expect((body["leader"] as { metadata: object }).metadata).toStrictEqual(metadata);
    const members = await service.get("/v1/groups/g/members");
    expect(members.body).toMatchObject({ members: [{ metadata }] });
  });
});

test("ids of 200 characters, with every allowed character, are distinct groups", async () => {
  const service = await serve();
  const ids = ["a/b", "a:b", "a.b", "a-b", "a_b", "...", "A/../B", "/", "x".repeat(200), "/".repeat(200)];
  for (const [index, id] of ids.entries()) {
    expect((await service.campaign(id, `n${index}`)).body).toMatchObject({ is_leader: true });
  }
  for (const [index, id] of ids.entries()) {
    expect((await service.leader(id)).body).toMatchObject({ leader: { node_id: `n${index}`, term: 1 } });
  }
});

test("a mandate is valid no longer than the lease, however long the write took", async () => {
  const key = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }) as string;
  const service = await serve({ signingKey: temporaryFile("key.pem", key) });
  await service.campaign("g", "a", { lease_ttl_ms: 3000 });
  const before = Date.now();
  const waiting = service.campaign("g", "b", { lease_ttl_ms: 60_000, wait_ms: 60_000 });
  await service.untilMetric("waiting_campaigns", 1);
  const renewed = await service.renew("g", "a", 1, { extend_by_ms: 3000 });
  await service.resign("g", "a", 1);
  const won = await waiting;
  const keys = createLocalJWKSet((await service.get("/v1/keys")).body as unknown as JSONWebKeySet);
  for (const [{ body }, ttlMs, node, term] of [
    [renewed, 3000, "a", 1],
    [won, 60_000, "b", 2],
  ] as const) {
    const { payload } = await jwtVerify(body["token"] as string, keys);
    expect(payload).toMatchObject({ sub: node, group: "g", term });
    expect((payload.exp ?? 0) * 1000).toBeLessThanOrEqual(Date.now() + ttlMs);
    expect((payload.exp ?? 0) * 1000).toBeGreaterThan(before + ttlMs - 1000);
  }
});

test("answers with leases include the leader's metadata only for callers that prefer it", async () => {
  const service = await serve();
  const metadata = { zone: "z" };
  await service.campaign("g", "a", { metadata });
  const headers = { prefer: "leader-metadata" };
  const renewal = { node_id: "a", term: 1, extend_by_ms: 5000 };
  const asks = [
    ["/v1/groups/g/campaign", { node_id: "b", lease_ttl_ms: 5000 }],
    ["/v1/groups/g/renew", renewal],
    ["/v1/renew", { renewals: [{ group_id: "g", ...renewal }] }],
  ] as const;
  for (const [path, body] of asks) {
    const told = ({ body: answer }: { body: unknown }) => JSON.stringify(answer).includes('"zone":"z"');
    expect(told(await service.post(path, body, { headers }))).toBe(true);
    expect(told(await service.post(path, body))).toBe(false);
  }
});

test("a holder that campaigns again gets confirmed: true", async () => {
  const service = await serve();
  expect((await service.campaign("g", "a")).body).not.toHaveProperty("confirmed");
  expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: true, confirmed: true });
});
