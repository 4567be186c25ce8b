import { afterEach, expect, it } from "vitest";
import { ADMIN_TOKEN, cleanUp, faulty, serveKnown } from "../http/service.test-kit.js";
import { ServiceError } from "../service-error.js";
import { GrpcClient, serveGrpc } from "./grpc.test-kit.js";
import { grpcStatusOf } from "./grpc-status.js";

afterEach(cleanUp);

const A = { group_id: "g", node_id: "a", lease_ttl_ms: 5000 };
const RENEWAL = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };

async function serveKnownGrpc(given: object = {}) {
  const { service, bearer } = await serveKnown({ grpc: "127.0.0.1:0", ...given });
  const as = (token: string) =>
    new GrpcClient(service.server.grpcAddress ?? "", undefined, { authorization: `Bearer ${token}` });
  return { service, as, node: async (claims: object) => as(await bearer(claims)) };
}

/** As the JSON API takes them: the rest of the path, and the body. */
const REFUSED: readonly (readonly [method: string, verb: string, path: string, body: object])[] = [
  ...[
    { node_id: "ü" },
    { node_id: "x".repeat(201) },
    { node_id: ".." },
    { lease_ttl_ms: -1 },
    { lease_ttl_ms: 499 },
    { lease_ttl_ms: 2 ** 32 + 5000 },
    { wait_ms: 60_001 },
    { wait_ms: -1 },
    { priority: 1_000_001 },
    { instance_start_uuid: "a b" },
    { metadata: [] },
    { metadata: null },
    { metadata: { x: "y".repeat(4096) } },
  ].map(
    (change) =>
      ["Election/Campaign", "POST", "/g/campaign", { node_id: "a", lease_ttl_ms: 5000, ...change }] as const,
  ),
  ["Election/Campaign", "POST", "/g/campaign", { node_id: "a" }],
  ["Election/Campaign", "POST", "/a%20b/campaign", { node_id: "a", lease_ttl_ms: 5000 }],
  ["Election/Renew", "POST", "/g/renew", { node_id: "a", term: -1, extend_by_ms: 5000 }],
  ["Election/Renew", "POST", "/g/renew", { node_id: "a", term: 1 }],
  ["Election/Renew", "POST", "/g/renew", { node_id: "a", term: 1, extend_by_ms: 60_001 }],
  ["Election/Resign", "POST", "/g/resign", { node_id: "a" }],
  ["Groups/Update", "PATCH", "/g", { policy: { strategy: "last" } }],
  ["Groups/Update", "PATCH", "/g", { policy: { min_ttl_ms: 1 } }],
  ["Groups/Update", "PATCH", "/g", { policy: { retry: { jitter: 2 } } }],
  ["Groups/Update", "PATCH", "/g", { allowed_nodes: ["a", "b c"] }],
  ["Groups/Update", "PATCH", "/g", { allowed_nodes: Array(257).fill("a") }],
  ["Groups/Heartbeat", "POST", "/g/heartbeat", { node_id: "a", metadata: "x" }],
  ["Groups/StepDown", "POST", "/g/step-down", {}],
  ["Groups/StepDown", "POST", "/g/step-down", { reason: "x".repeat(501) }],
  ["Groups/StepDown", "POST", "/g/step-down", { reason: "x", ban_ms: 86_400_001 }],
  ["Groups/Transfer", "POST", "/g/transfer", { to_node_id: "b", timeout_ms: 60_001 }],
  ["Groups/Pause", "POST", "/g/pause", { for_ms: 604_800_001 }],
];

it("gRPC refuses what HTTP refuses, with the same message", async () => {
  const { http, grpc } = await serveGrpc();
  await http.post("/v1/groups", { group_id: "g" });
  await http.campaign("g", "a");
  for (const [method, verb, path, body] of REFUSED) {
    const { metadata, allowed_nodes } = body as { metadata?: unknown; allowed_nodes?: unknown };
    const byHttp = await http.ask(verb, `/v1/groups${path}`, body);
    const byGrpc = await grpc.ask(method, {
      group_id: decodeURIComponent(path.split("/")[1] ?? ""),
      ...body,
      ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
      ...(allowed_nodes === undefined ? {} : { allowed_nodes: { node_ids: allowed_nodes } }),
    });
    const what = `${method} ${JSON.stringify(body).slice(0, 100)}`;
    expect({ what, status: byGrpc.status }).toEqual({ what, status: "INVALID_ARGUMENT" });
    expect({ what, ...byGrpc.error }).toEqual({ what, ...byHttp.body });
  }
});

it.each([
  ["Election/Campaign", { ...A, group_id: "" }, "group_id"],
  ["Election/Campaign", { node_id: "a", lease_ttl_ms: 5000 }, "group_id"],
  ["Election/Campaign", { ...A, metadata: "{" }, "metadata"],
  ["Election/Campaign", { ...A, metadata: '{"__proto__":{"x":1}}' }, "metadata"],
  ["Election/Campaign", { ...A, metadata: '{"a":{"constructor":{"prototype":{}}}}' }, "metadata"],
  ["Groups/Heartbeat", { group_id: "g", node_id: "a", metadata: '{"__proto__":1}' }, "metadata"],
  ["Election/Campaign", { ...A, instance_start_uuid: "" }, "instance_start_uuid"],
  ["Election/Renew", { ...RENEWAL, term: "9007199254740993" }, "term"],
  ["Election/RenewMany", { renewals: [RENEWAL, { ...RENEWAL, node_id: "" }] }, "renewals[1].node_id"],
  ["Election/Leader", { group_id: "g", consistency: "guess" }, "consistency"],
  ["Groups/Create", { group_id: "h", policy: { retry: { jitter: Number.NaN } } }, "policy.retry.jitter"],
  ["Groups/List", { limit: 1001 }, "limit"],
  ["Groups/List", { limit: -1 }, "limit"],
  ["Groups/List", { prefix: "a b" }, "prefix"],
  ["Groups/Resume", {}, "group_id"],
])("%s refuses a value that only a gRPC message can have: %o", async (method, request, field) => {
  const { grpc } = await serveGrpc();
  const answer = await grpc.ask(method, request);
  expect(answer).toMatchObject({ status: "INVALID_ARGUMENT", error: { error: "INVALID_REQUEST", field } });
});

it("a ttl refused by the policy names its bounds over gRPC", async () => {
  const { grpc } = await serveGrpc();
  const bounds = { error: "INVALID_TTL", min_ttl_ms: 500, max_ttl_ms: 60_000 };
  const campaign = await grpc.ask("Election/Campaign", { ...A, lease_ttl_ms: 499 });
  expect(campaign).toMatchObject({
    status: "INVALID_ARGUMENT",
    error: { ...bounds, field: "lease_ttl_ms" },
  });
});

it("gRPC refuses missing or bad credentials before it reads the message", async () => {
  const { service, as } = await serveKnownGrpc();
  const nobody = new GrpcClient(service.server.grpcAddress ?? "");
  for (const client of [nobody, as("wrong")]) {
    const answer = await client.ask("Election/Campaign", Buffer.from("no message"));
    expect(answer).toMatchObject({ status: "UNAUTHENTICATED", error: { error: "UNAUTHENTICATED" } });
  }
});

it("over gRPC a node can act only as itself, and only admins can use the operator methods", async () => {
  const { as, node } = await serveKnownGrpc();
  const a = await node({ sub: "a", groups: ["g*"], role: "node" });
  expect(await a.call("Election/Campaign", A)).toMatchObject({ is_leader: true });
  for (const [method, request] of [
    ["Election/Campaign", { ...A, node_id: "b" }],
    ["Election/Leader", { group_id: "other" }],
    ["Groups/StepDown", { group_id: "g", reason: "drill" }],
    ["Groups/Delete", { group_id: "g" }],
  ] as const) {
    expect(await a.ask(method, request)).toMatchObject({
      status: "PERMISSION_DENIED",
      error: { error: "UNAUTHORIZED" },
    });
  }
  expect(await as(ADMIN_TOKEN).call("Groups/Pause", { group_id: "g" })).toEqual({ ok: true });
});

it("over gRPC a group that was not created is not found if groups are explicit", async () => {
  const { grpc } = await serveGrpc({ explicitGroups: true });
  for (const method of ["Election/Leader", "Groups/Get", "Groups/History"]) {
    const answer = await grpc.ask(method, { group_id: "g" });
    expect(answer).toMatchObject({ status: "NOT_FOUND", error: { error: "GROUP_NOT_FOUND" } });
  }
});

it("requests of both transports count against one rate limit", async () => {
  const { service, as } = await serveKnownGrpc({ rateLimit: 2 });
  const admin = as(ADMIN_TOKEN);
  const http = service.as(ADMIN_TOKEN);
  const answers = await Promise.all([
    http.leader("g"),
    http.leader("g"),
    ...Array.from({ length: 20 }, () => admin.ask("Election/Leader", { group_id: "g" })),
  ]);
  const refused = answers.filter(({ status }) => status === "RESOURCE_EXHAUSTED");
  expect(refused.length).toBeGreaterThanOrEqual(10);
  expect(refused[0]).toMatchObject({ error: { error: "RATE_LIMITED" }, trailers: { "retry-after": "1" } });
});

it("gRPC refuses more waiting campaigns and watches than configured", async () => {
  const { grpc } = await serveGrpc({ maxWaiting: 1, maxWatches: 1 });
  await grpc.call("Election/Campaign", A);
  const waits = ["b", "c"].map((node_id) =>
    grpc.begin("Election/Campaign", { ...A, node_id, wait_ms: 60_000 }),
  );
  const refused = await Promise.race(waits.map(({ answer }) => answer));
  expect(refused).toMatchObject({ status: "RESOURCE_EXHAUSTED", error: { error: "TOO_MANY_WAITING" } });
  await grpc.stream("Election/Watch", { group_id: "g" }).next();
  const second = grpc.stream("Election/WatchAll", {});
  second.call.resume();
  expect(await second.end).toMatchObject({ error: { error: "TOO_MANY_WAITING" } });
});

it("gRPC answers UNAVAILABLE while the store is gone", async () => {
  const { store, goOut, comeBack } = faulty();
  const { grpc } = await serveGrpc({}, { store });
  await grpc.call("Election/Campaign", A);
  goOut();
  expect(await grpc.ask("Election/Renew", RENEWAL)).toMatchObject({
    status: "UNAVAILABLE",
    error: { error: "BACKEND_UNAVAILABLE" },
    trailers: { "retry-after": "1" },
  });
  comeBack();
});

it("gRPC refuses an invalid message, and one that is too large", async () => {
  const { grpc } = await serveGrpc();
  const bytes = Buffer.from([0x0a, 0x7f, 0x01]);
  const none = await grpc.ask("Election/Renew", bytes);
  expect(none).toMatchObject({ status: "INVALID_ARGUMENT", error: { error: "INVALID_REQUEST" } });
  const metadata = JSON.stringify({ x: "y".repeat(64 * 1024) });
  const large = await grpc.ask("Election/Campaign", { ...A, metadata });
  expect(large).toMatchObject({ status: "RESOURCE_EXHAUSTED", error: { error: "BODY_TOO_LARGE" } });
  const huge = await grpc.ask("Election/Campaign", { ...A, metadata: "x".repeat(2 * 1024 * 1024) });
  expect(huge.status).toBe("RESOURCE_EXHAUSTED");
});

it("an internal gRPC error reveals nothing but the request id", () => {
  const { code, details, metadata } = grpcStatusOf(new TypeError("secret"), "id-1");
  expect(code).toBe(13);
  expect(details).toContain("id-1");
  expect(JSON.stringify(metadata.getMap())).not.toContain("secret");
});

it("any text of a refusal is encoded so that gRPC metadata can hold it", () => {
  const message = "half a character \ud800, a whole one 𝄞, and …";
  const { details, metadata } = grpcStatusOf(new ServiceError("CONFLICT", message), "id-1");
  expect(JSON.parse(String(metadata.get("tenure-error")[0]))).toMatchObject({ message });
  expect(() => encodeURI(details)).not.toThrow();
});
