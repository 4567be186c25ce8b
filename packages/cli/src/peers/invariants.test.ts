/** The nine invariants of a cluster without a shared store, each shown by real servers with certificates. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { type ClusterNode, TestCluster } from "./cluster.test-kit.js";

describe("the invariants of the peers", () => {
  let cluster: TestCluster;
  let a: ClusterNode;
  let b: ClusterNode;
  let c: ClusterNode;
  beforeAll(async () => {
    cluster = await TestCluster.started(["a", "b", "c"]);
    [a, b, c] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode];
  });
  afterAll(() => cluster.close());

  const leave = "/v1/tc/cluster/leave";
  const announce = (node: ClusterNode, to: ClusterNode, endpoint = node.endpoint, extra: object = {}) =>
    cluster.ask(to, "POST", "/v1/tc/cluster/announce", {
      as: node.bundle,
      body: { self_endpoint: endpoint, disk: "d", ...extra },
    });

  it("1. self-only leave: a server can delete its own membership and no other, whatever it sends", async () => {
    const fanned = { as: b.bundle, headers: { "x-tenure-tc-leave-fanout": "1" } };
    b.process?.pause();
    expect((await cluster.ask(a, "POST", leave, fanned)).status).toBe(200);
    expect(await cluster.list(a)).toEqual([a.endpoint, c.endpoint].toSorted());
    b.process?.resume();
    // It has not left by itself: it announces itself again.
    await cluster.settled();
    // A leave for another server would be applied there only, so it is refused, and nothing changes.
    const wrong = await cluster.ask(a, "POST", leave, { as: c.bundle });
    expect(wrong).toMatchObject({ status: 403, body: { error: "tc_forbidden" } });
    expect(wrong.body["detail"]).toContain(`ask ${c.identity} itself to leave, at ${c.endpoint}`);
    expect(await cluster.list(a)).toEqual(cluster.endpoints);
  });

  it("2. fan-out leave: a leave is applied at every server, or at none and the server stays", async () => {
    await c.process?.end("SIGKILL");
    const refused = await cluster.ask(b, "POST", leave, { as: b.bundle });
    expect(refused).toMatchObject({ status: 503, body: { error: "tc_cluster_unavailable" } });
    expect(refused.body["detail"]).toContain(c.endpoint);
    await until(5 * cluster.ttlMs, "it is a member again", async () =>
      (await cluster.list(a)).includes(b.endpoint),
    );
    await cluster.start(c);
    await cluster.settled();
    expect((await cluster.ask(b, "POST", leave, { as: b.bundle })).status).toBe(200);
    for (const node of [a, b, c])
      expect(await cluster.list(node)).toEqual([a.endpoint, c.endpoint].toSorted());
    // Paused until it says otherwise.
    expect((await announce(b, b, b.endpoint, { disk: (await cluster.leaderAt(b))?.peer.disk })).status).toBe(
      200,
    );
    await cluster.settled();
  });

  it("3. membership is authoritative: an outdated join list has no effect on it", async () => {
    await b.process?.end("SIGTERM");
    // One of its targets no longer exists; the members stay the same.
    await cluster.start(b, { join: ["https://127.0.0.1:9", a.endpoint] });
    await cluster.settled();
    expect(await cluster.list(b)).toEqual(cluster.endpoints);
    // It was a member and knows the others, so it starts although no target of its list exists any more.
    await b.process?.end("SIGKILL");
    await cluster.start(b, { join: ["https://127.0.0.1:9"] });
    await cluster.settled();
  });

  it("5. registry replication is atomic: if one member does not confirm, no member has the change", async () => {
    const register = () =>
      cluster.ask(a, "POST", "/v1/tc/rm/register", {
        as: a.bundle,
        body: { backend_hash: "atomic", endpoint: "https://resource:1" },
      });
    await c.process?.end("SIGKILL");
    expect(await register()).toMatchObject({ status: 502, body: { error: "tc_rm_replication_failed" } });
    for (const node of [a, b]) {
      expect(JSON.stringify((await cluster.ask(node, "GET", "/v1/tc/rm/list")).body)).not.toContain("atomic");
    }
    await cluster.start(c);
    await cluster.settled();
    expect((await register()).status).toBe(200);
    for (const node of [a, b, c]) {
      expect(JSON.stringify((await cluster.ask(node, "GET", "/v1/tc/rm/list")).body)).toContain("atomic");
    }
  });

  it("6. SPIFFE-only identity: the identity is in the URI, not in hosts, names or bodies", async () => {
    // All are issued for 127.0.0.1 and still distinguished; a body cannot name another.
    const said = await announce(b, a, b.endpoint, { identity: a.identity });
    expect(said).toMatchObject({ status: 400, body: { error: "invalid_body" } });
    const { body } = await cluster.ask(a, "GET", "/v1/tc/cluster/list");
    const members = body["members"] as readonly { identity: string }[];
    expect(members.map(({ identity }) => identity)).toEqual(["a", "b", "c"]);
  });

  it("7. no operator knobs: no rule of membership, election or replication can be switched", async () => {
    const { stdout } = await cluster.scratch.run(["serve", "--help"]);
    const flags = [...stdout.matchAll(/--([a-z-]+)/g)].map(([, flag]) => flag ?? "");
    const ours = flags.filter((flag) =>
      /join|advertise|^tc|quorum|member|elect|replic|fanout|peer/.test(flag),
    );
    // The others' addresses, this server's address and the ttl: none of them is a rule.
    expect([...new Set(ours)].toSorted()).toEqual(["advertise", "join", "tc-ttl"]);
  });

  it("8. bootstrap is mandatory: with --join a server must reach a target, or be one itself", async () => {
    const other = await TestCluster.of(["x"], { ttlMs: 400 });
    try {
      const x = other.node(0);
      const args = ["serve", ...other.arguments(x, { join: ["https://127.0.0.1:9"] })];
      expect((await other.scratch.run(args)).code).toBe(2);
      await other.start(x, { join: ["https://127.0.0.1:9", x.endpoint] });
      expect(x.process?.isRunning).toBe(true);
    } finally {
      await other.close();
    }
  });

  it("the metrics show leader, members, electorate and registry", async () => {
    const admin = await cluster.bundle("admin", "operator");
    const leader = await cluster.leader();
    const { body } = await cluster.ask(leader, "GET", "/metrics", { as: admin });
    const text = body["text"] as string;
    expect(text).toMatch(/^tc_is_leader 1$/m);
    expect(text).toMatch(/^tc_members 3$/m);
    expect(text).toMatch(/^tc_electors 3$/m);
    expect(text).toMatch(/^tc_rm_endpoints [1-9]/m);
    expect(text).toMatch(/^tc_elected_total [1-9]/m);
    expect(text).toMatch(/^tc_term [1-9]/m);
  });

  it("9. quorum is based on the active membership: the electorate follows it, and a majority of the electorate decides", async () => {
    await b.process?.end("SIGTERM");
    await cluster.settled();
    const view = await cluster.leaderAt(a);
    expect(Object.keys(view?.peer.config?.members ?? {}).toSorted()).toEqual(["a", "c"]);
    await cluster.start(b);
    await cluster.settled();
  });

  it("4. quorum loss means no leader: the leader steps down and decides nothing", async () => {
    const leader = await cluster.leader();
    for (const node of cluster.nodes) if (node !== leader) await node.process?.end("SIGKILL");
    await until(5 * cluster.ttlMs, "it has stepped down", async () => (await cluster.leading()).length === 0);
    const body = { txn_id: "late", decision: "commit" };
    expect(await cluster.ask(leader, "POST", "/v1/tc/decide", { body })).toMatchObject({
      status: 503,
      body: { error: "tc_unavailable" },
    });
  });
});
