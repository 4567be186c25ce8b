/** Which callers are refused, with which code, and that nothing changes; and every reason not to start. */
import { systemClock } from "@tenure/core";
import { freePorts } from "@tenure/engines";
import { Authority } from "@tenure/peers/certificates";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Scratch } from "../scratch.test-kit.js";
import { type AskOptions, type ClusterNode, TestCluster } from "./cluster.test-kit.js";

describe("refusals of a cluster of two", () => {
  let cluster: TestCluster;
  let a: ClusterNode;
  let b: ClusterNode;
  let leader: ClusterNode;
  beforeAll(async () => {
    cluster = await TestCluster.started(["a", "b"]);
    [a, b] = [cluster.node(0), cluster.node(1)];
    leader = await cluster.leader();
  });
  afterAll(() => cluster.close());

  /** Everything that a call could change, except for what renews itself. */
  async function known(): Promise<unknown> {
    const views = await Promise.all([a, b].map((node) => cluster.leaderAt(node)));
    return views.map((view) => [view?.leader_id, view?.term, view?.peer.term, view?.peer.config]);
  }

  async function refused(path: string, options: AskOptions): Promise<readonly [number, unknown]> {
    const before = [await known(), await cluster.list(a)];
    const method = path.endsWith("leader") || path.endsWith("list") ? "GET" : "POST";
    const { status, body } = await cluster.ask(a, method, path, options);
    expect([await known(), await cluster.list(a)]).toEqual(before);
    expect(body["detail"]).toBeTypeOf("string");
    return [status, body["error"]];
  }

  const acquire = (id: string): object => ({
    candidate_id: id,
    candidate_endpoint: "https://127.0.0.1:1",
    term: 1_000_000,
    ttl_ms: 1500,
    cluster: "c",
    epoch: [0, 0],
  });

  it.each([
    "/v1/tc/leader",
    "/v1/tc/cluster/list",
    "/v1/tc/lease/acquire",
    "/v1/tc/lease/renew",
    "/v1/tc/lease/release",
  ])("%s is open to clients and servers only", async (path) => {
    const body = path.includes("lease") ? { body: acquire("a") } : {};
    const required = [403, "tc_client_required"];
    expect(await refused(path, { as: await cluster.bundle("sdk", "a"), ...body })).toEqual(required);
    expect(await refused(path, { as: null, ...body })).toEqual(required);
    const longAgo = systemClock.wallMs() - 90 * 86_400_000;
    const expired = await cluster.bundle("server", "a", cluster.authority, longAgo);
    expect(await refused(path, { as: expired, ...body })).toEqual(required);
    const stranger = await Authority.create({
      trustDomain: "tenure",
      keyKind: "p256",
      days: 9,
      nowMs: systemClock.wallMs(),
    });
    expect(await refused(path, { as: await cluster.bundle("server", "a", stranger), ...body })).toEqual(
      required,
    );
  });

  it.each(["/v1/tc/cluster/announce", "/v1/tc/cluster/leave", "/v1/tc/rm/register", "/v1/tc/rm/unregister"])(
    "%s is open to servers only",
    async (path) => {
      const body = { self_endpoint: "https://127.0.0.1:1", disk: "d" };
      const required = [403, "tc_server_required"];
      expect(await refused(path, { as: cluster.clerk, body })).toEqual(required);
      expect(await refused(path, { as: await cluster.bundle("sdk", "a"), body })).toEqual(required);
      expect(await refused(path, { as: null, body })).toEqual(required);
    },
  );

  it("no caller can take, renew or release a lease in another's name", async () => {
    const forbidden = [403, "tc_forbidden"];
    const other = leader === a ? b : a;
    expect(await refused("/v1/tc/lease/acquire", { as: b.bundle, body: acquire("a") })).toEqual(forbidden);
    const term = (await cluster.leaderAt(leader))?.term;
    const release = { leader_id: leader.identity, term };
    expect(await refused("/v1/tc/lease/release", { as: other.bundle, body: release })).toEqual(forbidden);
    expect(await refused("/v1/tc/lease/release", { as: cluster.clerk, body: release })).toEqual([
      403,
      "tc_server_required",
    ]);
  });

  it("a certificate of the cluster's authority with another trust domain is refused", async () => {
    const strange = await Authority.read(await cluster.authority.pem(), "ca");
    Object.assign(strange, { trustDomain: "elsewhere" });
    const foreign = await cluster.bundle("server", "a", strange);
    expect(await refused("/v1/tc/leader", { as: foreign })).toEqual([403, "tc_forbidden"]);
    const body = { self_endpoint: a.endpoint, disk: "d" };
    expect(await refused("/v1/tc/cluster/announce", { as: foreign, body })).toEqual([403, "tc_forbidden"]);
  });

  it.each([
    ["no JSON", "{", 400, "invalid_body"],
    ["a list", "[]", 400, "invalid_body"],
    ["a field too many", { more: 1 }, 400, "invalid_body"],
    ["no candidate", { candidate_id: undefined }, 400, "missing_candidate_id"],
    ["no endpoint", { candidate_endpoint: "" }, 400, "missing_candidate_endpoint"],
    ["no term", { term: undefined }, 400, "invalid_term"],
    ["a term of 0", { term: 0 }, 400, "invalid_term"],
    ["a term in a text", { term: "7" }, 400, "invalid_term"],
    ["a ttl of nothing", { ttl_ms: 0 }, 400, "invalid_ttl"],
    ["no epoch", { epoch: undefined }, 400, "missing_epoch"],
    ["an epoch of one number", { epoch: [1] }, 400, "invalid_body"],
    ["no cluster", { cluster: undefined }, 400, "missing_cluster"],
    ["another cluster", {}, 403, "tc_forbidden"],
  ])("a lease request with %s is refused", async (_case, change, status, error) => {
    const body = typeof change === "string" ? change : { ...acquire("b"), ...change };
    expect(await refused("/v1/tc/lease/acquire", { as: b.bundle, body })).toEqual([status, error]);
  });

  it("a lease is refused while another's is live, and for a term that is over", async () => {
    const config = (await cluster.leaderAt(leader))?.peer.config;
    const other = leader === a ? b : a;
    const own = { cluster: config?.cluster, epoch: config?.epoch };
    const ask = (body: object) =>
      cluster.ask(leader, "POST", "/v1/tc/lease/acquire", { as: other.bundle, body });
    const active = await ask({ ...acquire(other.identity), ...own });
    expect(active).toMatchObject({
      status: 409,
      body: { error: "tc_lease_active", leader_endpoint: leader.endpoint },
    });
    const stale = await ask({ ...acquire(other.identity), ...own, term: 1 });
    expect([stale.status, stale.body["granted"]]).toEqual([409, false]);
  });

  it("an unknown route gets an error of the common shape, for an admitted certificate", async () => {
    for (const [method, path] of [
      ["GET", "/v1/tc/nothing"],
      ["POST", "/v1/tc/leader"],
      ["GET", "/v1/rm/apply"],
    ] as const) {
      const { status, body } = await cluster.ask(a, method, path);
      expect([status, body["error"]]).toEqual([404, "tc_unknown_route"]);
      expect(body["detail"]).toContain(`there is no ${method} ${path}`);
    }
    expect(await refused("/v1/tc/nothing", { as: null })).toEqual([403, "tc_client_required"]);
  });

  it("/metrics is open to the certificate of an admin, and not to a tc client or a server", async () => {
    const metrics = async (as: ClusterNode["bundle"] | null) =>
      (await cluster.ask(a, "GET", "/metrics", { as })).status;
    const admin = await cluster.bundle("admin", "operator");
    expect(await Promise.all([admin, cluster.clerk, a.bundle, null].map(metrics))).toEqual([
      200, 401, 401, 401,
    ]);
  });

  it("an announcement without an endpoint or a disk is refused", async () => {
    const path = "/v1/tc/cluster/announce";
    expect(await refused(path, { as: b.bundle, body: { disk: "d" } })).toEqual([
      400,
      "missing_self_endpoint",
    ]);
    expect(await refused(path, { as: b.bundle, body: { self_endpoint: b.endpoint } })).toEqual([
      400,
      "missing_disk",
    ]);
    const odd = { self_endpoint: "ftp://x", disk: "d" };
    expect(await refused(path, { as: b.bundle, body: odd })).toEqual([400, "invalid_body"]);
  });
});

describe("reasons not to start a server", () => {
  let cluster: TestCluster;
  let scratch: Scratch;
  beforeEach(async () => {
    cluster = await TestCluster.of(["a", "b"], { ttlMs: 400 });
    scratch = cluster.scratch;
  });
  afterEach(() => cluster.close());

  async function sentence(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await scratch.run(["serve", ...args, "--log-level", "silent"]);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^tenure: [^\n]+\n$/);
    return stderr;
  }

  it("a server does not start when no join target answers and it is not one itself", async () => {
    const [a, b] = [cluster.node(0), cluster.node(1)];
    const told = await sentence(cluster.arguments(a, { join: [b.endpoint] }));
    expect(told).toContain(`none of the join targets ${b.endpoint}`);
  });

  it("a server does not start when the join target is of another authority", async () => {
    const other = await TestCluster.started(["x"]);
    try {
      const told = await sentence(cluster.arguments(cluster.node(0), { join: other.endpoints }));
      expect(told).toContain(`none of the join targets ${other.endpoints[0]}`);
    } finally {
      await other.close();
    }
  });

  it("a server does not start when its join list names itself by another spelling", async () => {
    const a = cluster.node(0);
    const spelled = a.endpoint.replace("127.0.0.1", "localhost");
    const told = await sentence(cluster.arguments(a, { join: [spelled] }));
    expect(told).toContain(
      `--join names ${spelled}, which is this server itself, known to others as ${a.endpoint}`,
    );
  });

  // The rules are tested beside parseNodeOptions; here, that the command follows them and names its own flag.
  it("a server does not start when --join names others and it has no certificate", async () => {
    const store = `embedded:${scratch.directory()}/data`;
    const args = ["--listen", "127.0.0.1:7", "--store", store, "--join", "https://h:1"];
    expect(await sentence(args)).toMatch(/^tenure: --join names https:\/\/h:1.*give --bundle/);
  });

  it("a server does not start when its bundle is not that of a server", async () => {
    const { writeFileSync } = await import("node:fs");
    const { key, cert, ca } = cluster.clerk;
    writeFileSync(cluster.node(0).bundleFile, `${key}\n${cert}\n${ca}\n`);
    expect(await sentence(cluster.arguments(cluster.node(0)))).toContain("--bundle is that of a tc");
  });

  it("a server does not start with --advertise or --tc-ttl and without --join", async () => {
    const flags = [
      ["--advertise", "https://h:1"],
      ["--tc-ttl", "900"],
    ];
    const told = await Promise.all(flags.map((each) => sentence(each)));
    expect(told[0]).toContain("--advertise has no effect without join");
    expect(told[1]).toContain("--tc-ttl has no effect without join");
  });

  it("a server starts alone and without certificates when it joins only itself", async () => {
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const store = `embedded:${scratch.directory()}/data`;
    const args = ["--listen", `127.0.0.1:${port}`, "--store", store, "--join", url, "--tc-ttl", "400"];
    const server = await scratch.serve(args);
    expect(server.url).toBe(url);
    expect(await server.end("SIGTERM")).toBe(0);
  });
});
