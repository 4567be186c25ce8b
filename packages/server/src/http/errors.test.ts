/** Every error code that a caller can get, reached over HTTP. */
import { boundMs } from "@tenure/engines";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "@tenure/core";
import {
  ADMIN_TOKEN,
  type Answer,
  cleanUp,
  faulty,
  rawRequest,
  serve,
  serveKnown,
} from "./service.test-kit.js";

afterEach(cleanUp);

function expectError({ status, body }: Answer, expected: number, error: string, more: object = {}): void {
  expect([status, body]).toMatchObject([
    expected,
    { ok: false, error, message: expect.any(String) as string, ...more },
  ]);
}

describe("errors from the state of a group", () => {
  test("a renewal or resignation of a term that is not held is NOT_LEADER", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const current_leader = { node_id: "a", term: 1 };
    for (const [node, term] of [
      ["b", 1],
      ["a", 2],
    ] as const) {
      expectError(await service.renew("g", node, term), 409, "NOT_LEADER", { current_leader });
      expectError(await service.resign("g", node, term), 409, "NOT_LEADER", { current_leader });
    }
    expectError(await service.renew("nobody's", "a", 1), 400, "INVALID_REQUEST", { field: "group_id" });
    expectError(await service.renew("unheard-of", "a", 1), 409, "NOT_LEADER", { current_leader: null });
    expectError(await service.resign("unheard-of", "a", 1), 409, "NOT_LEADER", { current_leader: null });
  });

  test("creating a group that was created before, or deleting a led one, is CONFLICT", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    expect((await service.post("/v1/groups", { group_id: "g" })).status).toBe(201);
    expectError(await service.post("/v1/groups", { group_id: "g" }), 409, "CONFLICT");
    expectError(await service.ask("DELETE", "/v1/groups/g"), 409, "CONFLICT");
    expect((await service.ask("DELETE", "/v1/groups/g?force=true")).status).toBe(200);
    expect((await service.campaign("g", "b")).body).toMatchObject({ leader: { term: 2 } });
  });

  test("INVALID_TTL names the bounds of the group's policy, whatever number was sent", async () => {
    const service = await serve();
    await service.post("/v1/groups", { group_id: "g", policy: { min_ttl_ms: 2000, max_ttl_ms: 15_000 } });
    const bounds = { min_ttl_ms: 2000, max_ttl_ms: 15_000 };
    for (const ttl of [1999, 15_001, 1, 0, -1, 86_400_001, 1e15, 1e300]) {
      const more = { field: "lease_ttl_ms", ...bounds };
      expectError(await service.campaign("g", "a", { lease_ttl_ms: ttl }), 422, "INVALID_TTL", more);
    }
    await service.campaign("g", "a");
    for (const ttl of [1999, 15_001, 0, 1e12]) {
      const more = { field: "extend_by_ms", ...bounds };
      expectError(await service.renew("g", "a", 1, { extend_by_ms: ttl }), 422, "INVALID_TTL", more);
    }
    expect((await service.campaign("implicit", "a", { lease_ttl_ms: 0 })).body).toMatchObject({
      min_ttl_ms: 500,
      max_ttl_ms: 60_000,
    });
  });

  test("a campaign of a node that the group does not allow is UNAUTHORIZED", async () => {
    const service = await serve();
    await service.post("/v1/groups", { group_id: "g", allowed_nodes: ["a"] });
    expectError(await service.campaign("g", "b"), 403, "UNAUTHORIZED");
    expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: true });
  });

  test("every verb on a group that was not created is GROUP_NOT_FOUND if groups are explicit", async () => {
    const service = await serve({ explicitGroups: true });
    const missing = [
      service.campaign("g", "a"),
      service.campaign("g", "a", { lease_ttl_ms: 0 }),
      service.campaign("g", "a", { wait_ms: 1000 }),
      service.renew("g", "a", 1),
      service.resign("g", "a", 1),
      service.leader("g"),
      service.get("/v1/groups/g/leader?consistency=local"),
      service.get("/v1/groups/g/watch"),
      service.get("/v1/groups/g/watch?cursor=0"),
      service.get("/v1/groups/g/watch?cursor=7"),
      service.get("/v1/groups/g/watch", { headers: { accept: "text/event-stream" } }),
      service.get("/v1/groups/g"),
      service.get("/v1/groups/g/members"),
      service.get("/v1/groups/g/history"),
      service.ask("PATCH", "/v1/groups/g", {}),
      service.ask("DELETE", "/v1/groups/g"),
      service.post("/v1/groups/g/heartbeat", { node_id: "a" }),
      service.post("/v1/groups/g/step-down", { reason: "test" }),
      service.post("/v1/groups/g/transfer", { to_node_id: "b" }),
      service.post("/v1/groups/g/pause"),
      service.post("/v1/groups/g/resume"),
    ];
    for (const answer of await Promise.all(missing)) expectError(answer, 404, "GROUP_NOT_FOUND");
    const { body } = await service.post("/v1/renew", {
      renewals: [{ group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 }],
    });
    expect(body).toMatchObject({ results: [{ group_id: "g", ok: false, error: "GROUP_NOT_FOUND" }] });
    await service.post("/v1/groups", { group_id: "g" });
    expect((await service.leader("g")).body).toStrictEqual({ leader: null, term: 0 });
    await service.campaign("g", "a");
    await service.ask("DELETE", "/v1/groups/g?force=true");
    expectError(await service.leader("g"), 404, "GROUP_NOT_FOUND");
    expectError(await service.get("/v1/groups/g/watch"), 404, "GROUP_NOT_FOUND");
  });
});

describe("errors from a store outage", () => {
  test("a store outage is BACKEND_UNAVAILABLE within five seconds, and ends without a restart", async () => {
    const { store, goOut, comeBack } = faulty();
    const service = await serve({}, { store });
    await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
    goOut();
    const renewal = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };
    const startedMs = systemClock.monotonicMs();
    const stream = { headers: { accept: "text/event-stream" } };
    const asked = [
      service.campaign("g", "b"),
      service.campaign("h", "b", { wait_ms: 100 }),
      service.renew("g", "a", 1),
      service.resign("g", "b", 1),
      service.leader("g"),
      service.get("/v1/groups/g/watch"),
      service.get("/v1/groups/g/watch", stream),
      service.get("/v1/watch", stream),
      service.get("/v1/groups"),
      service.get("/v1/groups/g/members"),
      service.post("/v1/groups/g/pause"),
      service.post("/v1/groups", { group_id: "g" }),
    ];
    for (const answer of await Promise.all(asked)) {
      expectError(answer, 503, "BACKEND_UNAVAILABLE");
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    const batch = await service.post("/v1/renew", { renewals: [renewal] });
    expect(batch.body).toMatchObject({
      results: [{ group_id: "g", ok: false, error: "BACKEND_UNAVAILABLE" }],
    });
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(boundMs(5000));
    expect((await service.get("/readyz")).status).toBe(503);
    expect((await service.get("/healthz")).status).toBe(200);
    expect(await service.metric("store_quorum_health")).toBe(0);
    expect(await service.metric('renew_failures_total{reason="BACKEND_DOWN"}')).toBe(2);
    comeBack();
    while ((await service.get("/readyz")).status !== 200);
    expect((await service.renew("g", "a", 1)).body).toMatchObject({ ok: true, leader: { term: 1 } });
    await service.untilMetric("store_quorum_health", 1);
  });

  test("the service starts during a store outage", async () => {
    const { store, goOut, comeBack } = faulty();
    goOut();
    const service = await serve({}, { store });
    expectError(await service.campaign("g", "a"), 503, "BACKEND_UNAVAILABLE");
    comeBack();
    while ((await service.get("/readyz")).status !== 200);
    expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: true });
  });
});

describe("errors from authentication and authorization", () => {
  test("missing or bad credentials are UNAUTHENTICATED", async () => {
    const { service, bearer } = await serveKnown();
    const late = await bearer({ sub: "a", groups: ["*"], exp: 1 });
    for (const client of [service, service.as("wrong"), service.as(late)]) {
      const answer = await client.leader("g");
      expectError(answer, 401, "UNAUTHENTICATED");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/docs", "/v1/keys"]) {
      expect((await service.get(path)).status).toBe(200);
    }
    expect((await service.as(ADMIN_TOKEN).leader("g")).status).toBe(200);
  });

  test("acting in another's name, group or role is UNAUTHORIZED", async () => {
    const { service, bearer } = await serveKnown();
    const node = service.as(await bearer({ sub: "a", groups: ["team-*"] }));
    const observer = service.as(await bearer({ sub: "o", role: "observer", groups: ["team-*"] }));
    expect((await node.campaign("team-x", "a")).body).toMatchObject({ is_leader: true });
    const refused = [
      node.campaign("team-x", "b"),
      node.renew("team-x", "b", 1),
      node.resign("team-x", "b", 1),
      node.campaign("other", "a"),
      node.leader("other"),
      node.get("/v1/groups/other/watch"),
      node.get("/v1/groups/other/watch", { headers: { accept: "text/event-stream" } }),
      node.get("/v1/groups/other/members"),
      node.get("/metrics"),
      node.post("/v1/groups", { group_id: "team-y" }),
      node.post("/v1/groups/team-x/step-down", { reason: "no" }),
      node.post("/v1/groups/team-x/pause"),
      observer.campaign("team-x", "o"),
      observer.post("/v1/groups/team-x/heartbeat", { node_id: "a" }),
    ];
    for (const answer of await Promise.all(refused)) expectError(answer, 403, "UNAUTHORIZED");
    expect((await observer.leader("team-x")).status).toBe(200);
    expect((await observer.post("/v1/groups/team-x/heartbeat", { node_id: "o" })).status).toBe(200);
  });
});

describe("invalid requests", () => {
  test("an invalid request names the field and what it should be", async () => {
    const service = await serve();
    const campaign = "/v1/groups/g/campaign";
    const good = { node_id: "a", lease_ttl_ms: 5000 };
    const renewal = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };
    const id = "must be 1 to 200 characters of A-Z a-z 0-9 . _ : / -";
    const cases: readonly (readonly [string, unknown, string, string])[] = [
      [
        campaign,
        { ...good, leese: 1 },
        "leese",
        "leese is not known here; known are node_id, lease_ttl_ms, ",
      ],
      [campaign, { node_id: "a" }, "lease_ttl_ms", "lease_ttl_ms is missing"],
      [campaign, { ...good, lease_ttl_ms: "5000" }, "lease_ttl_ms", "lease_ttl_ms must be a whole number"],
      [campaign, { ...good, lease_ttl_ms: 0.5 }, "lease_ttl_ms", "lease_ttl_ms must be a whole number"],
      [campaign, { ...good, lease_ttl_ms: null }, "lease_ttl_ms", "lease_ttl_ms must be a whole number"],
      [campaign, { ...good, node_id: "ä" }, "node_id", `node_id ${id}`],
      [campaign, { ...good, node_id: "" }, "node_id", `node_id ${id}`],
      [campaign, { ...good, node_id: "a".repeat(201) }, "node_id", `node_id ${id}`],
      [campaign, { ...good, node_id: ".." }, "node_id", 'node_id must not be "." or ".."'],
      [campaign, { ...good, wait_ms: 60_001 }, "wait_ms", "wait_ms must be a whole number from 0 to 60000"],
      [campaign, { ...good, metadata: [] }, "metadata", "metadata must be a JSON object"],
      [
        campaign,
        { ...good, metadata: { x: "y".repeat(4096) } },
        "metadata",
        "metadata is 4104 bytes as JSON",
      ],
      [campaign, [], "body", "the body must be a JSON object"],
      [campaign, undefined, "body", "the body must be a JSON object"],
      ["/v1/groups/g/step-down", { reason: "" }, "reason", "reason must be a text of 1 to 500 characters"],
      ["/v1/groups/g/step-down", { reason: "x", force: 1 }, "force", "force must be true or false"],
      ["/v1/groups/g/resume", { for_ms: 1 }, "for_ms", "for_ms is not known here"],
      [
        "/v1/renew",
        { renewals: [renewal, { ...renewal, node_id: 7 }] },
        "renewals[1].node_id",
        `renewals[1].node_id ${id}`,
      ],
      [
        "/v1/renew",
        { renewals: [renewal, renewal] },
        "renewals[1].group_id",
        "renewals[1].group_id is named twice",
      ],
      ["/v1/renew", { renewals: 7 }, "renewals", "renewals must be a list of at most 1000"],
      [
        "/v1/groups",
        { group_id: "p", policy: { min_ttl_ms: 9, max_ttl_ms: 9 } },
        "policy.min_ttl_ms",
        "policy.min_ttl_ms must be a whole number from 100 to 86400000",
      ],
      [
        "/v1/groups",
        { group_id: "p", policy: { min_ttl_ms: 5000, max_ttl_ms: 1000 } },
        "policy.min_ttl_ms",
        "policy.min_ttl_ms is 5000, more than policy.max_ttl_ms, which is 1000",
      ],
      [
        "/v1/groups",
        { group_id: "p", policy: { strategy: "best" } },
        "policy.strategy",
        "policy.strategy must be one of first, priority",
      ],
      [
        "/v1/groups",
        { group_id: "p", policy: { retry: { jitter: 2 } } },
        "policy.retry.jitter",
        "policy.retry.jitter must be a number from 0 to 1",
      ],
      [
        "/v1/groups",
        { group_id: "p", allowed_nodes: "a" },
        "allowed_nodes",
        "allowed_nodes must be a list of at most 256 or null",
      ],
    ];
    for (const [path, body, field, message] of cases) {
      expectError(await service.post(path, body), 400, "INVALID_REQUEST", {
        field,
        message: expect.stringContaining(message) as string,
      });
    }
    for (const [path, field] of [
      ["/v1/groups/g/leader?consistency=stale", "consistency"],
      ["/v1/groups/g/leader?consistncy=local", "consistncy"],
      ["/v1/groups/g/members?limit=1", "limit"],
      ["/v1/groups/g?x=1", "x"],
      ["/v1/groups?limit=0", "limit"],
      ["/v1/groups?limit=ten", "limit"],
      ["/v1/groups?limit=1&limit=2", "limit"],
      ["/v1/groups?cursor=%20", "cursor"],
      ["/v1/groups/g/watch?cursor=x", "cursor"],
      ["/v1/groups/g/watch?cursor=-1", "cursor"],
      ["/v1/groups/g/watch?cursor=1e3", "cursor"],
      ["/v1/groups/g/watch?cursor=9999999999999999", "cursor"],
      ["/v1/groups/g/watch?timeout_ms=60001", "timeout_ms"],
      ["/v1/groups/%C3%A4/leader", "group_id"],
      [`/v1/groups/${"a".repeat(201)}/leader`, "group_id"],
    ] as const) {
      expectError(await service.get(path), 400, "INVALID_REQUEST", { field });
    }
    const bad = await service.get("/v1/groups/g/watch", {
      headers: { accept: "text/event-stream", "last-event-id": "x" },
    });
    expectError(bad, 400, "INVALID_REQUEST", { field: "cursor" });
  });

  test("a request that is not JSON, not a known path or not HTTP gets an error of the same shape", async () => {
    const service = await serve();
    const path = "/v1/groups/g/campaign";
    for (const [body, type] of [
      ["{", "application/json"],
      ['{"__proto__": {"x": 1}, "node_id": "a", "lease_ttl_ms": 5000}', "application/json"],
      ["node_id=a", "application/x-www-form-urlencoded"],
      ["{}", "text/plain"],
      ["<a/>", "text/xml"],
    ] as const) {
      expectError(
        await service.post(path, body, { headers: { "content-type": type } }),
        400,
        "INVALID_REQUEST",
      );
    }
    expectError(await service.get("/nowhere"), 404, "NOT_FOUND");
    expectError(await service.ask("PUT", "/v1/groups/g/leader"), 404, "NOT_FOUND");
    const end = "host: localhost\r\nconnection: close\r\n\r\n";
    for (const [text, status] of [
      [`GET /v1/groups/%zz/leader HTTP/1.1\r\n${end}`, 400],
      [`GET /v1/groups/%C3/leader HTTP/1.1\r\n${end}`, 400],
      [`GET /v1/groups/${"a".repeat(700)}/leader HTTP/1.1\r\n${end}`, 400],
      [`GET /v1/groups/../leader HTTP/1.1\r\n${end}`, 400],
      ["what is this?\r\n\r\n", 400],
      [`GET /healthz HTTP/1.1\r\nx: ${"y".repeat(20_000)}\r\n${end}`, 431],
    ] as const) {
      const [head = "", body = ""] = (await rawRequest(service.url, text)).split("\r\n\r\n");
      expect(head).toContain(`HTTP/1.1 ${status} `);
      expect(JSON.parse(body)).toMatchObject({ ok: false, error: "INVALID_REQUEST" });
    }
  });

  test("a body over 64 KiB, or over 1 MiB for a list of renewals, is BODY_TOO_LARGE", async () => {
    const service = await serve();
    const blanks = (bytes: number, body: object) => JSON.stringify(body).padEnd(bytes);
    const campaign = { node_id: "a", lease_ttl_ms: 5000 };
    const path = "/v1/groups/g/campaign";
    expect((await service.post(path, blanks(65_536, campaign))).status).toBe(200);
    expectError(await service.post(path, blanks(65_537, campaign)), 413, "BODY_TOO_LARGE");
    expect((await service.post("/v1/renew", blanks(1_048_576, { renewals: [] }))).status).toBe(200);
    expectError(await service.post("/v1/renew", blanks(1_048_577, { renewals: [] })), 413, "BODY_TOO_LARGE");
  });
});

test("RATE_LIMITED affects only its own caller, and says when to retry", async () => {
  const { service, bearer } = await serveKnown({ rateLimit: 5 });
  const [a, b] = [
    service.as(await bearer({ sub: "a", groups: ["*"] })),
    service.as(await bearer({ sub: "b", groups: ["*"] })),
  ];
  const answers = await Promise.all(Array.from({ length: 50 }, () => a.leader("g")));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) {
    expectError(answer, 429, "RATE_LIMITED");
    expect(answer.headers.get("retry-after")).toBe("1");
  }
  expect((await b.leader("g")).status).toBe(200);
});

test("a caller that disconnects is not logged as an error", async () => {
  const lines: string[] = [];
  const { pino } = await import("pino");
  const log = pino({ level: "error" }, { write: (line: string) => lines.push(line) });
  const service = await serve({}, { log });
  await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
  const gone = new AbortController();
  const waiting = service.campaign("g", "b", { wait_ms: 60_000 }, { signal: gone.signal });
  waiting.catch(() => {});
  await service.untilMetric("waiting_campaigns", 1);
  gone.abort();
  await service.untilMetric("waiting_campaigns", 0);
  await service.resign("g", "a", 1);
  expect((await service.leader("g")).body).toStrictEqual({ leader: null, term: 1 });
  expect(lines).toEqual([]);
});
