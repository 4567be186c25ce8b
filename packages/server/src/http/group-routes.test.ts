import { VirtualClock } from "@tenure/core/testing";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { ADMIN_TOKEN, cleanUp, type Client, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

const DEFAULTS = {
  min_ttl_ms: 500,
  max_ttl_ms: 60_000,
  takeover_delay_ms: 0,
  strategy: "first",
  preempt: false,
  retry: { initial_ms: 100, max_ms: 5000, jitter: 0.2 },
};

describe("the routes of a group", () => {
  test("a group is shown completely, whether it was created or only campaigned for", async () => {
    const service = await serve();
    const created = await service.post("/v1/groups", { group_id: "team/a" });
    const shown = {
      group_id: "team/a",
      policy: DEFAULTS,
      allowed_nodes: null,
      explicit: true,
      leader: null,
      term: 0,
      paused: false,
      pause: null,
      bans: [],
    };
    expect([created.status, created.body]).toStrictEqual([201, shown]);
    expect((await service.get("/v1/groups/team%2Fa")).body).toStrictEqual(shown);
    await service.campaign("implicit", "a");
    expect((await service.get("/v1/groups/implicit")).body).toMatchObject({
      explicit: false,
      leader: { node_id: "a", term: 1 },
      term: 1,
    });
  });

  test("an implicit group becomes explicit and keeps its leader", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const { status, body } = await service.post("/v1/groups", { group_id: "g" });
    expect([status, body]).toMatchObject([201, { explicit: true, leader: { node_id: "a", term: 1 } }]);
  });

  test("a group is changed in part, and null opens it to every node", async () => {
    const service = await serve();
    const retry = { initial_ms: 50, max_ms: 900, jitter: 0.5 };
    await service.post("/v1/groups", { group_id: "g", policy: { retry }, allowed_nodes: ["a"] });
    const policy = { strategy: "priority", preempt: true, retry: { max_ms: 800 } };
    const { body } = await service.ask("PATCH", "/v1/groups/g", { policy });
    expect(body).toMatchObject({
      policy: { ...DEFAULTS, ...policy, retry: { ...retry, max_ms: 800 } },
      allowed_nodes: ["a"],
    });
    const opened = await service.ask("PATCH", "/v1/groups/g", { allowed_nodes: null });
    expect(opened.body).toMatchObject({ allowed_nodes: null, policy: { strategy: "priority" } });
  });

  test("a deleted group keeps its term", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    await service.resign("g", "a", 1);
    expect((await service.ask("DELETE", "/v1/groups/g")).body).toEqual({ ok: true });
    expect((await service.get("/v1/groups")).body).toEqual({ groups: [], cursor: null });
    expect((await service.leader("g")).body).toEqual({ leader: null, term: 1 });
    expect((await service.campaign("g", "b")).body).toMatchObject({ leader: { term: 2 } });
  });
});

test("groups are listed in order of id, by prefix, in pages", async () => {
  const service = await serve();
  const ids = ["b/3", "a", "b/1", "c", "b/2"];
  for (const group_id of ids) await service.post("/v1/groups", { group_id });
  const list = async (query: string) => {
    const { body } = await service.get(`/v1/groups${query}`);
    const { groups, cursor } = body as { groups: { group_id: string }[]; cursor: string | null };
    return { ids: groups.map(({ group_id }) => group_id), cursor };
  };
  expect(await list("")).toEqual({ ids: ids.toSorted(), cursor: null });
  expect(await list("?prefix=b%2F&limit=2")).toEqual({ ids: ["b/1", "b/2"], cursor: "b/2" });
  expect(await list("?prefix=b%2F&limit=2&cursor=b%2F2")).toEqual({ ids: ["b/3"], cursor: null });
  expect(await list("?prefix=nothing")).toEqual({ ids: [], cursor: null });
});

test("members are the leader, candidates and observers, each with its readiness and the time it was last seen", async () => {
  const service = await serve();
  const before = Date.now();
  await service.campaign("g", "leading");
  await service.campaign("g", "standing", { metadata: { zone: "z" }, ready: false });
  expect((await service.post("/v1/groups/g/heartbeat", { node_id: "looking" })).body).toEqual({ ok: true });
  const { body } = await service.get("/v1/groups/g/members");
  const last_heartbeat_ms = expect.any(Number) as number;
  expect(body["members"]).toStrictEqual([
    { node_id: "leading", role: "leader", ready: true, last_heartbeat_ms },
    { node_id: "looking", role: "observer", ready: true, last_heartbeat_ms },
    { node_id: "standing", role: "candidate", ready: false, last_heartbeat_ms, metadata: { zone: "z" } },
  ]);
  for (const member of body["members"] as { last_heartbeat_ms: number }[]) {
    expect(member.last_heartbeat_ms).toBeGreaterThanOrEqual(before);
    expect(member.last_heartbeat_ms).toBeLessThanOrEqual(Date.now());
  }
  await service.post("/v1/groups/g/heartbeat", { node_id: "standing", ready: true });
  const after = (await service.get("/v1/groups/g/members")).body["members"];
  expect(after).toContainEqual(expect.objectContaining({ node_id: "standing", ready: true }));
});

test("health has the state of each member, the reason and since when", async () => {
  const service = await serve();
  await service.campaign("g", "leading");
  const { body } = await service.get("/v1/groups/g/health");
  const some = expect.any(Number) as number;
  expect(body["members"]).toStrictEqual([
    {
      node_id: "leading",
      role: "leader",
      ready: true,
      last_heartbeat_ms: some,
      state: "healthy",
      reason: "seen recently",
      since_ms: some,
    },
  ]);
});

describe("step-down", () => {
  test("a step-down keeps the leader from renewing and being confirmed, and bans it for a while", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const body = { reason: "maintenance", ban_ms: 60_000 };
    expect((await service.post("/v1/groups/g/step-down", body)).body).toEqual({ ok: true });
    expect((await service.renew("g", "a", 1)).status).toBe(409);
    expect((await service.campaign("g", "b")).body).toMatchObject({ is_leader: false });
    expect((await service.resign("g", "a", 1)).status).toBe(200);
    expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: false, leader: null });
    expect((await service.campaign("g", "b")).body).toMatchObject({ is_leader: true, leader: { term: 2 } });
  });

  test("a step-down by force frees the group at once", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    await service.post("/v1/groups/g/step-down", { reason: "stuck", force: true });
    expect((await service.campaign("g", "b")).body).toMatchObject({ is_leader: true, leader: { term: 2 } });
    expect((await service.renew("g", "a", 1)).body).toMatchObject({
      current_leader: { node_id: "b", term: 2 },
    });
  });
});

describe("a transfer", () => {
  test("a transfer is shown to the leader in its renewals, and is answered with the new leader", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const waiting = service.campaign("g", "b", { wait_ms: 60_000 });
    await service.untilMetric("waiting_campaigns", 1);
    const transferred = service.post("/v1/groups/g/transfer", { to_node_id: "b" });
    for (;;) {
      const { body } = await service.renew("g", "a", 1);
      expect(body).toMatchObject({ ok: true });
      if (body["transfer_to"] === "b") break;
    }
    await service.resign("g", "a", 1);
    expect((await transferred).body).toStrictEqual({
      ok: true,
      leader: { node_id: "b", term: 2, lease_expires_at_ms: expect.any(Number) as number },
    });
    expect((await waiting).body).toMatchObject({ is_leader: true, leader: { term: 2 } });
    expect((await service.get("/v1/groups/g/history")).body).toMatchObject({
      events: [{ term: 1 }, { type: "LEADER_LOST", reason: "transferred" }, { term: 2, leader_node_id: "b" }],
    });
  });

  test("a transfer to a cold node is a CONFLICT that names allow_cold, and is carried out with it", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const waiting = service.campaign("g", "b", { wait_ms: 60_000, ready: false });
    await service.untilMetric("waiting_campaigns", 1);
    for (const body of [{ to_node_id: "b" }, {}]) {
      const refused = await service.post("/v1/groups/g/transfer", body);
      expect([refused.status, refused.body["error"]]).toEqual([409, "CONFLICT"]);
      expect(refused.body["message"]).toMatch(/is still preparing; .* set allow_cold/);
    }
    const transferred = service.post("/v1/groups/g/transfer", { to_node_id: "b", allow_cold: true });
    while ((await service.renew("g", "a", 1)).body["transfer_to"] !== "b");
    await service.resign("g", "a", 1);
    expect((await transferred).body).toMatchObject({ ok: true, leader: { node_id: "b", term: 2 } });
    expect((await waiting).body).toMatchObject({ is_leader: true });
  });

  test("a transfer without to_node_id goes to a ready candidate, and is a CONFLICT if none waits", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const refused = await service.post("/v1/groups/g/transfer", {});
    expect([refused.status, refused.body["error"]]).toEqual([409, "CONFLICT"]);
    expect(refused.body["message"]).toContain("no candidate is waiting for this group");
    void service.campaign("g", "b", { wait_ms: 60_000, ready: false });
    await service.untilMetric("waiting_campaigns", 1);
    const waiting = service.campaign("g", "c", { wait_ms: 60_000 });
    await service.untilMetric("waiting_campaigns", 2);
    const transferred = service.post("/v1/groups/g/transfer", {});
    while ((await service.renew("g", "a", 1)).body["transfer_to"] !== "c");
    await service.resign("g", "a", 1);
    expect((await transferred).body).toMatchObject({ ok: true, leader: { node_id: "c", term: 2 } });
    expect((await waiting).body).toMatchObject({ is_leader: true });
  });

  test("a transfer to a node that does not wait is a CONFLICT and changes nothing", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const { status, body } = await service.post("/v1/groups/g/transfer", { to_node_id: "b", timeout_ms: 50 });
    expect([status, body["error"]]).toEqual([409, "CONFLICT"]);
    const renewed = await service.renew("g", "a", 1);
    expect(renewed.body).not.toHaveProperty("transfer_to");
    expect(renewed.body).toMatchObject({ ok: true });
  });
});

test("a pause with a duration ends by itself", async () => {
  const clock = new VirtualClock();
  const service = await serve({}, { clock: clock.process() });
  await service.post("/v1/groups/g/pause", { for_ms: 5000, create: true });
  expect((await service.get("/v1/groups/g")).body).toMatchObject({ paused: true, paused_for_ms: 5000 });
  expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: false, leader: null });
  await clock.advance(5000);
  expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: true });
  await service.post("/v1/groups/g/pause");
  const paused = (await service.get("/v1/groups/g")).body;
  expect(paused).toMatchObject({ paused: true });
  expect(paused).not.toHaveProperty("paused_for_ms");
});

test("a group shows why it is held back, and for how long", async () => {
  const clock = new VirtualClock();
  const service = await serve({}, { clock: clock.process() });
  const held = async () => {
    const { held_back, held_back_for_ms, leader } = (await service.get("/v1/groups/g")).body;
    return [held_back, held_back_for_ms, (leader as { node_id: string } | null)?.node_id];
  };
  await service.post("/v1/groups", { group_id: "g", policy: { takeover_delay_ms: 3000 } });
  await service.campaign("g", "a");
  expect(await held()).toEqual([undefined, undefined, "a"]);
  await service.post("/v1/groups/g/step-down", { reason: "drill" });
  await clock.advance(1000);
  // A lease of 5 s, plus the margin of a server.
  expect(await held()).toEqual(["deposed", 4050, "a"]);
  await service.resign("g", "a", 1);
  expect(await held()).toEqual([undefined, undefined, undefined]);
  await service.campaign("g", "b");
  await clock.advance(5100);
  const [by, forMs, leader] = await held();
  expect([by, leader]).toEqual(["takeover_delay", undefined]);
  expect(forMs).toBeGreaterThan(2900);
  expect(forMs).toBeLessThanOrEqual(3000);
  await clock.advance(3000);
  expect(await held()).toEqual([undefined, undefined, undefined]);
});

test("while a deposed leader's lease runs, leader, renew and campaign give the same answer", async () => {
  const clock = new VirtualClock();
  const service = await serve({}, { clock: clock.process() });
  await service.campaign("g", "a");
  await service.post("/v1/groups/g/step-down", { reason: "drill" });
  await clock.advance(1000);
  const held = { leader: null, held_back: "deposed", held_back_for_ms: 4050 };
  expect((await service.get("/v1/groups/g/leader")).body).toEqual({ ...held, term: 1 });
  expect((await service.campaign("g", "b")).body).toMatchObject({ ...held, is_leader: false });
  const renewal = await service.post("/v1/groups/g/renew", { node_id: "a", term: 1, extend_by_ms: 5000 });
  expect([renewal.status, renewal.body["current_leader"]]).toEqual([409, null]);
});

test("a deleted or unknown group is not found", async () => {
  const service = await serve();
  await service.campaign("g", "a");
  await service.ask("DELETE", "/v1/groups/g?force=true");
  for (const groupId of ["g", "never"]) {
    for (const [method, body] of [["GET"], ["PATCH", { allowed_nodes: ["a"] }], ["DELETE"]] as const) {
      const answer = await service.ask(method, `/v1/groups/${groupId}`, body);
      expect([method, answer.status, answer.body["error"]]).toEqual([method, 404, "GROUP_NOT_FOUND"]);
    }
  }
  expect((await service.get("/v1/groups/g/leader")).body).toEqual({ leader: null, term: 1 });
});

test("a transfer to a node that waits nowhere is refused at once and changes nothing", async () => {
  // Virtual time stands still: an answer that waited for the limit of the transfer would never come.
  const service = await serve({}, { clock: new VirtualClock().process() });
  await service.campaign("g", "a");
  const before = (await service.get("/v1/groups/g")).body;
  const refused = await service.post("/v1/groups/g/transfer", { to_node_id: "b" });
  expect([refused.status, refused.body["error"]]).toEqual([409, "CONFLICT"]);
  expect(refused.body["message"]).toContain("b is not waiting for this group");
  expect((await service.get("/v1/groups/g")).body).toEqual(before);
});

test("the history lists the last 64 events, oldest first", async () => {
  const service = await serve();
  for (let term = 1; term <= 35; term++) {
    await service.campaign("g", "a");
    await service.resign("g", "a", term);
  }
  const { body } = await service.get("/v1/groups/g/history");
  const events = body["events"] as { term: number; type: string }[];
  expect(events).toHaveLength(64);
  expect([events[0], events.at(-1)]).toMatchObject([
    { term: 4, type: "LEADER_CHANGED" },
    { term: 35, type: "LEADER_LOST" },
  ]);
});

test("every action of an admin leaves one log line, done or refused, at any level", async () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    const entry = JSON.parse(line) as Record<string, unknown>;
    if (entry["audit"] === true) lines.push(entry);
  };
  const { service, bearer } = await serveKnown({}, { log: pino({ level: "silent" }, { write }) });
  const admin = service.as(await bearer({ sub: "Zoë", role: "admin" }));
  const acts: readonly (readonly [string, (client: Client) => Promise<unknown>, string])[] = [
    ["create-group", (c) => c.post("/v1/groups", { group_id: "g" }), "done"],
    ["create-group", (c) => c.post("/v1/groups", { group_id: "g" }), "CONFLICT"],
    ["update-group", (c) => c.ask("PATCH", "/v1/groups/g", { allowed_nodes: ["a"] }), "done"],
    ["pause", (c) => c.post("/v1/groups/g/pause", { for_ms: 10_000 }), "done"],
    ["resume", (c) => c.post("/v1/groups/g/resume"), "done"],
    ["step-down", (c) => c.post("/v1/groups/g/step-down", { reason: "why not" }), "CONFLICT"],
    ["transfer", (c) => c.post("/v1/groups/g/transfer", { to_node_id: "b" }), "CONFLICT"],
    ["delete-group", (c) => c.ask("DELETE", "/v1/groups/g"), "done"],
  ];
  for (const [act, ask, outcome] of acts) {
    await ask(admin);
    expect(lines.splice(0)).toMatchObject([
      { audit: true, act, outcome, caller: { kind: "jwt", role: "admin", name: "Zoë" }, group_id: "g" },
    ]);
  }
  await service.as(ADMIN_TOKEN).post("/v1/groups/g/step-down", { reason: "why not" });
  expect(lines.splice(0)).toMatchObject([
    { caller: { kind: "admin-token" }, details: { reason: "why not" } },
  ]);
});
