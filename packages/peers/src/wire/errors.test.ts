/** Every error code that a caller can get, with its status and its shape, caused by a request. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { type Asked, named, NOBODY, TestNode, type Told, UNNAMED } from "./node.test-kit.js";
import { WIRE_STATUS, type WireCode } from "./wire-error.js";

const SELF = named("server/n1");
const OTHER = named("server/n2");

let test: TestNode;
afterEach(() => test.stop());

const seen = new Set<string>();

/** Sends a request, and checks what every refusal must have. */
async function refused(path: string, asked: Asked, method: "GET" | "POST" = "POST"): Promise<Told["body"]> {
  const { status, body } = await test.ask(method, path, asked);
  const code = body["error"] as WireCode;
  expect(status).toBe(code.startsWith("missing_") ? 400 : WIRE_STATUS[code as keyof typeof WIRE_STATUS]);
  expect(body["detail"]).toMatch(/^\S.*\S$/);
  expect(body["retry_after_seconds"]).toBe(status === 503 ? 1 : undefined);
  seen.add(code);
  return body;
}

async function config(): Promise<{ cluster: string; epoch: readonly number[] }> {
  const { body } = await test.ask("GET", "/v1/tc/leader");
  return (body["peer"] as { config: { cluster: string; epoch: readonly number[] } }).config;
}

/** n2 announces itself; whether it can be reached is unknown. */
async function announceOther(): Promise<void> {
  const body = { self_endpoint: "http://127.0.0.1:1", disk: "d2" };
  expect((await test.ask("POST", "/v1/tc/cluster/announce", { as: OTHER, body })).status).toBe(200);
}

async function acquire(rest: object = {}): Promise<object> {
  const { cluster, epoch } = await config();
  const endpoint = "http://127.0.0.1:8";
  return { candidate_id: "n2", candidate_endpoint: endpoint, term: 9, ttl_ms: 1000, cluster, epoch, ...rest };
}

async function renew(rest: object = {}): Promise<object> {
  const endpoint = "http://127.0.0.1:9";
  return {
    leader_id: "n1",
    leader_endpoint: endpoint,
    term: 1,
    ttl_ms: 1000,
    config: await config(),
    ...rest,
  };
}

/** The leader has begun a second term. */
async function secondTerm(): Promise<void> {
  test = await TestNode.leading();
  await test.node.peer.resign(1);
  while (!test.node.peer.isLeader()) await test.clock.advance(10);
}

describe("a malformed request", () => {
  it.each([
    ["invalid JSON", "{"],
    ["a list", "[]"],
    ["an unknown field", { more: 1 }],
    ["a candidate that is not an id", { candidate_id: "a b" }],
    ["an endpoint that is not a URL", { candidate_endpoint: "node-1" }],
    ["an epoch of one number", { epoch: [1] }],
    ["a cluster that is not a string", { cluster: 7 }],
  ])("a request with %s is an invalid_body", async (_case, change) => {
    test = await TestNode.leading();
    const body = typeof change === "string" ? change : await acquire(change);
    expect(await refused("/v1/tc/lease/acquire", { as: OTHER, body })).toMatchObject({
      error: "invalid_body",
    });
  });

  it.each(["candidate_id", "candidate_endpoint", "cluster", "epoch"])(
    "a request without %s says which field is missing",
    async (field) => {
      test = await TestNode.leading();
      const body = await acquire({ [field]: undefined });
      expect(await refused("/v1/tc/lease/acquire", { as: OTHER, body })).toMatchObject({
        error: `missing_${field}`,
      });
    },
  );

  it.each([
    ["/v1/tc/lease/renew", {}, "missing_leader_id"],
    ["/v1/tc/lease/renew", { leader_id: "n1" }, "missing_leader_endpoint"],
    ["/v1/tc/lease/release", {}, "missing_leader_id"],
    ["/v1/tc/cluster/announce", {}, "missing_self_endpoint"],
    ["/v1/tc/rm/register", {}, "missing_backend_hash"],
    ["/v1/tc/rm/unregister", { backend_hash: "h" }, "missing_endpoint"],
    ["/v1/tc/decide", {}, "missing_txn_id"],
    ["/v1/tc/decide", { txn_id: "t" }, "missing_decision"],
    ["/v1/rm/apply", { tc_term: 1, decision: "commit" }, "missing_cluster"],
    ["/v1/tc/decisions/tell", { cluster: "c" }, "tc_term_required"],
    ["/v1/tc/decide", { txn_id: "t", decision: "maybe" }, "invalid_body"],
    ["/v1/tc/decide", { txn_id: "t", decision: "commit", tc_term: 0 }, "invalid_term"],
    ["/v1/rm/apply", { txn_id: "t", decision: "commit" }, "tc_term_required"],
  ])("a request to %s with %j is %s", async (path, body, error) => {
    test = await TestNode.leading();
    expect(await refused(path, { as: SELF, body })).toMatchObject({ error });
  });

  it.each([undefined, 0, 1.5, "7", -1])("a request with the term %j has an invalid_term", async (term) => {
    test = await TestNode.leading();
    const asked = { as: OTHER, body: await acquire({ term }) };
    expect(await refused("/v1/tc/lease/acquire", asked)).toMatchObject({ error: "invalid_term" });
  });

  it.each([undefined, 0, 99, 86_400_001, "1000"])(
    "a request with the ttl %j has an invalid_ttl",
    async (ttl) => {
      test = await TestNode.leading();
      const body = await renew({ ttl_ms: ttl });
      expect(await refused("/v1/tc/lease/renew", { as: SELF, body })).toMatchObject({ error: "invalid_ttl" });
    },
  );
});

describe("callers that are refused", () => {
  it.each([
    ["without a certificate", NOBODY, "tc_client_required", "tc_server_required"],
    ["with an sdk certificate", named("sdk/x"), "tc_client_required", "tc_server_required"],
    ["with an admin certificate", named("admin/x"), "tc_client_required", "tc_server_required"],
    ["with a certificate without a name", UNNAMED, "tc_client_required", "tc_cluster_identity_missing"],
    [
      "of another trust domain",
      { kind: "foreign", why: "of elsewhere" } as const,
      "tc_forbidden",
      "tc_forbidden",
    ],
  ])("a caller %s is refused everywhere, and nothing changes", async (_case, as, client, server) => {
    test = await TestNode.leading();
    const before = (await test.ask("GET", "/v1/tc/cluster/list")).body;
    for (const path of ["/v1/tc/leader", "/v1/tc/cluster/list", "/v1/tc/rm/list", "/v1/tc/decisions/t"])
      expect(await refused(path, { as }, "GET")).toMatchObject({ error: client });
    for (const verb of ["acquire", "renew", "release"])
      expect(await refused(`/v1/tc/lease/${verb}`, { as, body: {} })).toMatchObject({ error: client });
    expect(await refused("/v1/tc/decide", { as, body: {} })).toMatchObject({ error: client });
    const servers = ["cluster/announce", "cluster/leave", "rm/register", "rm/unregister"];
    const decisions = ["prepare", "remember", "held", "tell"].map((verb) => `decisions/${verb}`);
    for (const path of [...servers, ...decisions])
      expect(await refused(`/v1/tc/${path}`, { as, body: {} })).toMatchObject({ error: server });
    expect(await refused("/v1/rm/apply", { as, body: {} })).toMatchObject({ error: server });
    expect((await test.ask("GET", "/v1/tc/cluster/list")).body).toEqual(before);
    expect(test.node.peer.isLeader()).toBe(true);
  });

  it("a caller can act only in its own name", async () => {
    test = await TestNode.leading();
    const forbidden = { error: "tc_forbidden" };
    expect(await refused("/v1/tc/lease/acquire", { as: SELF, body: await acquire() })).toMatchObject(
      forbidden,
    );
    expect(await refused("/v1/tc/lease/renew", { as: OTHER, body: await renew() })).toMatchObject(forbidden);
    const release = { leader_id: "n1", term: 1 };
    expect(await refused("/v1/tc/lease/release", { as: OTHER, body: release })).toMatchObject(forbidden);
    expect(test.node.peer.isLeader()).toBe(true);
  });

  it("a caller of another cluster may not take or renew a lease", async () => {
    test = await TestNode.leading();
    const body = await acquire({ cluster: "another" });
    expect(await refused("/v1/tc/lease/acquire", { as: OTHER, body })).toMatchObject({
      error: "tc_forbidden",
      refusal: "other-cluster",
    });
  });
});

describe("refused leases", () => {
  it("a lease is not granted while another's is live, and its holder is named", async () => {
    test = await TestNode.leading();
    await announceOther();
    expect(await refused("/v1/tc/lease/acquire", { as: OTHER, body: await acquire() })).toMatchObject({
      error: "tc_lease_active",
      leader_endpoint: TestNode.options.endpoint,
      granted: false,
    });
  });

  it("a lease is not granted for a term that is over, nor by an older electorate", async () => {
    await secondTerm();
    const own = { candidate_id: "n1", term: 1 };
    expect(await refused("/v1/tc/lease/acquire", { as: SELF, body: await acquire(own) })).toMatchObject({
      error: "tc_term_stale",
      refusal: "term-stale",
    });
    const old = await acquire({ candidate_id: "n1", epoch: [0, 0] });
    expect(await refused("/v1/tc/lease/acquire", { as: SELF, body: old })).toMatchObject({
      error: "tc_term_stale",
      refusal: "epoch-stale",
    });
  });

  it("a lease is not renewed by another than its holder, nor after its release", async () => {
    await secondTerm();
    expect(await refused("/v1/tc/lease/renew", { as: SELF, body: await renew() })).toMatchObject({
      error: "tc_not_leader",
      renewed: false,
    });
    const release = { leader_id: "n1", term: 2 };
    expect(await test.ask("POST", "/v1/tc/lease/release", { as: SELF, body: release })).toMatchObject({
      status: 200,
      body: { released: true },
    });
    expect(await refused("/v1/tc/lease/renew", { as: SELF, body: await renew({ term: 2 }) })).toMatchObject({
      error: "tc_term_stale",
      refusal: "released",
    });
  });
});

describe("errors of decisions", () => {
  const decide = (decision: string, rest: object = {}): Promise<Told> =>
    test.ask("POST", "/v1/tc/decide", { body: { txn_id: "t", decision, ...rest } });

  it("a decision that was not made is unknown", async () => {
    test = await TestNode.leading();
    expect(await refused("/v1/tc/decisions/t", {}, "GET")).toMatchObject({ error: "txn_unknown" });
  });

  it("a decision conflicts with the opposite, at the coordinator and at a resource manager", async () => {
    test = await TestNode.leading();
    expect((await decide("commit")).status).toBe(200);
    const opposite = { txn_id: "t", decision: "abort" };
    expect(await refused("/v1/tc/decide", { body: opposite })).toMatchObject({
      error: "txn_conflict",
      decision: "commit",
    });
    const { cluster } = await config();
    const asked = { as: SELF, body: { cluster, ...opposite, tc_term: 1 } };
    expect(await refused("/v1/rm/apply", asked)).toMatchObject({ error: "txn_conflict", decision: "commit" });
  });

  it("a decision in the name of a past term is stale, and of a future one belongs to another leader", async () => {
    await secondTerm();
    const body = { txn_id: "t", decision: "commit" };
    expect(await refused("/v1/tc/decide", { body: { ...body, tc_term: 1 } })).toMatchObject({
      error: "tc_term_stale",
      tc_term: 2,
    });
    expect(await refused("/v1/tc/decide", { body: { ...body, tc_term: 3 } })).toMatchObject({
      error: "tc_not_leader",
    });
    expect((await decide("commit")).status).toBe(200);
    const { cluster } = await config();
    const apply = { ...body, cluster, tc_term: 1 };
    expect(await refused("/v1/rm/apply", { as: SELF, body: apply })).toMatchObject({
      error: "tc_term_stale",
    });
    const old = { txn_id: "t", cluster, tc_term: 1 };
    expect(await refused("/v1/tc/decisions/prepare", { as: SELF, body: old })).toMatchObject({
      error: "tc_term_stale",
    });
  });
});

describe("errors of a recovery", () => {
  it("a recovery is refused if no majority is lost, to any caller but the server itself, and without names", async () => {
    test = await TestNode.leading();
    const path = "/v1/tc/cluster/recover";
    expect(await refused(path, { as: SELF, body: { lost: ["n2"] } })).toMatchObject({
      error: "tc_recovery_refused",
    });
    expect(await refused(path, { as: SELF, body: { lost: [] } })).toMatchObject({ error: "invalid_body" });
    expect(await refused(path, { as: OTHER, body: { lost: ["n2"] } })).toMatchObject({
      error: "tc_forbidden",
    });
    expect(await refused(path, { body: { lost: ["n2"] } })).toMatchObject({ error: "tc_server_required" });
  });
});

describe("a route that does not exist", () => {
  it("an unknown route gets an error of the common shape, for admitted callers", async () => {
    test = await TestNode.leading();
    for (const [method, path] of [
      ["GET", "/v1/tc/nothing"],
      ["POST", "/v1/tc/leader"],
      ["GET", "/v1/rm/apply"],
    ] as const)
      expect(await refused(path, {}, method)).toMatchObject({ error: "tc_unknown_route" });
    expect(await refused("/v1/tc/nothing", { as: NOBODY })).toMatchObject({ error: "tc_client_required" });
  });
});

describe("errors of the registry", () => {
  it("a change of the registry that a member does not confirm fails and is undone", async () => {
    test = await TestNode.leading();
    await announceOther();
    const body = { backend_hash: "h", endpoint: "http://127.0.0.1:7" };
    const told = await refused("/v1/tc/rm/register", { as: SELF, body });
    expect(told).toMatchObject({ error: "tc_rm_replication_failed" });
    expect(told["detail"]).toContain("http://127.0.0.1:1");
    expect(JSON.stringify((await test.ask("GET", "/v1/tc/rm/list")).body)).not.toContain(":7");
  });
});

describe("a server that cannot answer now", () => {
  it("a server is unavailable before it has started, and while it knows no coordinator", async () => {
    test = await TestNode.open({ join: [TestNode.options.endpoint, "http://127.0.0.1:1"] });
    const unavailable = { error: "tc_unavailable" };
    expect(await refused("/v1/tc/leader", {}, "GET")).toMatchObject(unavailable);
    await test.node.start();
    const body = { txn_id: "t", decision: "commit" };
    expect(await refused("/v1/tc/decide", { body })).toMatchObject(unavailable);
    expect(await refused("/v1/tc/decisions/t", {}, "GET")).toMatchObject(unavailable);
  });

  it("a server whose disk fails says which part failed", async () => {
    test = await TestNode.leading();
    const candidacy = await acquire({ candidate_id: "n1" });
    const { cluster } = await config();
    test.store.isDown = true;
    const endpoint = "http://127.0.0.1:7";
    const asked: readonly (readonly [string, object, string])[] = [
      ["/v1/tc/lease/acquire", candidacy, "tc_unavailable"],
      ["/v1/tc/decisions/prepare", { cluster, txn_id: "t", tc_term: 1 }, "tc_unavailable"],
      ["/v1/tc/cluster/announce", { self_endpoint: endpoint }, "tc_cluster_unavailable"],
      ["/v1/tc/cluster/leave", {}, "tc_cluster_unavailable"],
      ["/v1/tc/rm/register", { backend_hash: "h", endpoint }, "tc_rm_unavailable"],
      ["/v1/rm/apply", { cluster, txn_id: "t", decision: "commit", tc_term: 1 }, "tc_rm_unavailable"],
    ];
    for (const [path, body, error] of asked)
      expect(await refused(path, { as: SELF, body })).toMatchObject({ error });
    // It did not leave, so it stays a member.
    expect(test.node.membership.leaving).toBe(false);
  });

  it("a server whose resource fails is called again later, and applies the decision then", async () => {
    let isAway = true;
    test = await TestNode.leading({
      apply: async () => {
        if (isAway) throw new Error("the ledger is locked");
      },
    });
    const { cluster } = await config();
    const asked = { as: SELF, body: { cluster, txn_id: "t", decision: "commit", tc_term: 1 } };
    const told = await refused("/v1/rm/apply", asked);
    expect(told).toMatchObject({ error: "tc_rm_unavailable" });
    expect(told["detail"]).toContain("the ledger is locked");
    isAway = false;
    expect((await test.ask("POST", "/v1/rm/apply", asked)).body).toMatchObject({
      applied: true,
      changed: true,
    });
  });
});

describe("a server that is to be a member again", () => {
  it("an announcement of the server itself needs only its endpoint", async () => {
    test = await TestNode.leading();
    const body = { self_endpoint: TestNode.options.endpoint };
    expect(await test.ask("POST", "/v1/tc/cluster/announce", { as: SELF, body })).toMatchObject({
      status: 200,
      body: { endpoints: [TestNode.options.endpoint] },
    });
    expect(await refused("/v1/tc/cluster/announce", { as: OTHER, body })).toMatchObject({
      error: "missing_disk",
    });
  });
});

it("the tests of this file have caused every error code", async () => {
  test = await TestNode.open();
  expect(Object.keys(WIRE_STATUS).filter((code) => !seen.has(code))).toEqual([]);
});

it("every error code of the peers is documented with its status", async () => {
  test = await TestNode.open();
  const page = readFileSync(new URL("../../../../docs/PEERS.md", import.meta.url), "utf8");
  const told = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  for (const [code, status] of Object.entries(WIRE_STATUS)) {
    expect(told.find((cells) => cells[1] === `\`${code}\``)?.[2]).toBe(String(status));
  }
});
