/** The registry of resource managers and decisions, among real processes. */
import { freePorts } from "@tenure/engines";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { command, jsonOf } from "../frame/command.test-kit.js";
import { type Answer, type ClusterNode, TestCluster } from "./cluster.test-kit.js";

let cluster: TestCluster;
// One cluster for all tests: each leaves it with servers missing, and the next begins with all of them, registered.
beforeAll(async () => {
  cluster = await TestCluster.of(["a", "b", "c"]);
});
beforeEach(async () => {
  const missing = cluster.nodes.filter(({ process }) => process?.isRunning !== true);
  await Promise.all(missing.map((node) => cluster.start(node)));
  await cluster.settled();
  await allRegistered();
});
afterAll(() => cluster.close());

interface Listed {
  readonly backends: readonly { readonly backend_hash: string; readonly endpoints: readonly string[] }[];
}

async function registered(node: ClusterNode): Promise<readonly string[]> {
  const { body } = await cluster.ask(node, "GET", "/v1/tc/rm/list");
  return (body as unknown as Listed).backends.flatMap(({ endpoints }) => endpoints).toSorted();
}

const backendsAt = async (node: ClusterNode): Promise<Listed["backends"]> =>
  ((await cluster.ask(node, "GET", "/v1/tc/rm/list")).body as unknown as Listed).backends;

async function allRegistered(): Promise<void> {
  await until(30_000, "every server is registered everywhere", async () => {
    const lists = await Promise.all(cluster.running.map(registered));
    return lists.every((list) => list.join() === cluster.endpoints.join());
  });
}

const decide = (node: ClusterNode, txn: string, decision: string, extra: object = {}): Promise<Answer> =>
  cluster.ask(node, "POST", "/v1/tc/decide", { body: { txn_id: txn, decision, ...extra } });

describe("the registry of a cluster", () => {
  it("the registry is the same at every server, servers register themselves, and a change needs the confirmation of all", async () => {
    const [a, b, c] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode];
    const change = (node: ClusterNode, verb: string, name: string): Promise<Answer> =>
      cluster.ask(node, "POST", `/v1/tc/rm/${verb}`, {
        as: a.bundle,
        body: { backend_hash: name, endpoint: "https://resource:1/" },
      });
    const told = await change(a, "register", "extra");
    expect(told).toMatchObject({
      status: 200,
      body: { backend_hash: "extra", endpoints: ["https://resource:1"] },
    });
    expect((await change(b, "register", "extra")).body["endpoints"]).toEqual(["https://resource:1"]);
    for (const node of cluster.nodes) expect(await registered(node)).toContain("https://resource:1");

    // Still a member and unreachable: refused and undone.
    await c.process?.end("SIGKILL");
    expect(await change(a, "register", "more")).toMatchObject({
      status: 502,
      body: { error: "tc_rm_replication_failed" },
    });
    expect(await change(b, "unregister", "extra")).toMatchObject({
      status: 502,
      body: { error: "tc_rm_replication_failed" },
    });
    for (const node of [a, b]) {
      expect((await backendsAt(node)).map((each) => each.backend_hash)).not.toContain("more");
      expect(await registered(node)).toContain("https://resource:1");
    }

    // No longer a member once its lease is over: then it is not asked.
    await until(
      20 * cluster.ttlMs,
      "the killed server expires",
      async () => !(await cluster.list(a)).includes(c.endpoint),
    );
    await until(
      10 * cluster.ttlMs,
      "a change is possible",
      async () => (await change(a, "unregister", "extra")).status === 200,
    );
    expect(await registered(b)).not.toContain("https://resource:1");

    // Back again, and the same for all.
    await cluster.start(c);
    await allRegistered();
  });
});

describe("decisions of a cluster", () => {
  it("decisions are made by the leader at whichever server they are requested, applied everywhere, final, and reach absent servers", async () => {
    const leader = await cluster.leader();
    const [other, third] = cluster.nodes.filter((node) => node !== leader) as [ClusterNode, ClusterNode];
    const { term = 0, peer } = (await cluster.leaderAt(leader)) ?? {};
    const named = { cluster: peer?.config?.cluster };
    expect(await decide(other, "t1", "commit")).toMatchObject({
      status: 200,
      body: { txn_id: "t1", decision: "commit", tc_term: term, pending: [] },
    });
    expect((await decide(leader, "t1", "commit")).status).toBe(200);
    expect(await decide(third, "t1", "abort")).toMatchObject({
      status: 409,
      body: { error: "txn_conflict", decision: "commit" },
    });

    // A resource manager obeys no lower term, and needs one.
    const apply = (body: object, as = leader.bundle): Promise<Answer> =>
      cluster.ask(other, "POST", "/v1/rm/apply", {
        as,
        body: { ...named, txn_id: "t1", decision: "commit", ...body },
      });
    expect(await apply({ tc_term: term }, third.bundle)).toMatchObject({
      status: 403,
      body: { error: "tc_forbidden" },
    });
    expect(await apply({})).toMatchObject({ status: 400, body: { error: "tc_term_required" } });
    expect(await apply({ tc_term: term })).toMatchObject({
      status: 200,
      body: { applied: true, changed: false },
    });
    expect(await apply({ tc_term: term, decision: "abort" })).toMatchObject({
      status: 409,
      body: { error: "txn_conflict" },
    });

    // Away at the decision, and informed when it is back.
    await third.process?.end("SIGKILL");
    expect((await decide(other, "t3", "abort")).body).toMatchObject({
      decision: "abort",
      pending: [third.endpoint],
    });
    await cluster.start(third);
    await until(30_000, "it is applied at last", async () => {
      const { body } = await cluster.ask(other, "GET", "/v1/tc/decisions/t3");
      return Array.isArray(body["pending"]) && body["pending"].length === 0;
    });

    // The next leader knows the decisions of this one, and a higher term fences the old one.
    const before = await cluster.leader();
    await before.process?.end("SIGKILL");
    const next = await cluster.leader();
    const later = (await cluster.leaderAt(next))?.term ?? 0;
    expect(await decide(next, "t3", "commit")).toMatchObject({
      status: 409,
      body: { error: "txn_conflict", decision: "abort" },
    });
    expect(await decide(next, "t4", "commit", { tc_term: later - 1 })).toMatchObject({
      status: 409,
      body: { error: "tc_term_stale" },
    });
    expect((await decide(next, "t5", "commit")).status).toBe(200);
    const rest = cluster.running.find((node) => node !== next) as ClusterNode;
    const stale = { ...named, txn_id: "t6", decision: "commit", tc_term: later - 1 };
    const refused = await cluster.ask(rest, "POST", "/v1/rm/apply", { as: next.bundle, body: stale });
    expect(refused).toMatchObject({ status: 409, body: { error: "tc_term_stale" } });

    // The leader is gone, and no other server is there: first it is named, then there is none.
    await next.process?.end("SIGKILL");
    expect(await decide(rest, "t7", "commit")).toMatchObject({
      status: 409,
      body: { error: "tc_not_leader", leader_endpoint: next.endpoint },
    });
    await until(
      10 * cluster.ttlMs,
      "nobody is known to lead",
      async () => (await decide(rest, "t7", "commit")).status === 503,
    );
    expect(await decide(rest, "t7", "commit")).toMatchObject({
      body: { error: "tc_unavailable", retry_after_seconds: 1 },
    });
  });
});

describe("tenure tc", () => {
  it("tenure tc shows the leader, members and resource managers, decides, and removes a server", async () => {
    const leader = await cluster.leader();
    const tc = (...args: readonly string[]) =>
      command([
        "tc",
        ...args,
        "--bundle",
        cluster.clerkFile,
        "--server",
        `https://127.0.0.1:1,${leader.endpoint}`,
      ]);
    expect((await tc("leader")).stdout).toMatch(`${leader.identity} at ${leader.endpoint}, term `);
    expect(jsonOf(await tc("members", "--json"))).toMatchObject({ endpoints: cluster.endpoints });
    expect((await tc("rm", "list")).stdout.split("\n")).toHaveLength(5);
    // The certificates of these tests are valid for 20 days. A server that lags for a moment is one more finding.
    await until(10 * cluster.ttlMs, "there is nothing but the certificates to look at", async () =>
      (await tc("status")).stdout.includes("3 problems:"),
    );
    const status = await tc("status");
    expect([status.code, status.stderr]).toEqual([0, ""]);
    expect(status.stdout).toContain(`coordinator  ${leader.identity} at ${leader.endpoint}, term `);
    for (const node of cluster.nodes) expect(status.stdout).toContain(node.bundle.serial);
    expect(jsonOf(await tc("status", "--json"))).toMatchObject({ leader: { leader_id: leader.identity } });
    expect((await tc("decide", "t", "commit")).stdout).toMatch(/^t: commit, term \d+, applied everywhere\n$/);
    const conflict = await tc("decide", "t", "abort");
    expect([conflict.code, conflict.stderr]).toEqual([
      1,
      "tenure: t was decided before: commit (txn_conflict)\n",
    ]);
    expect((await tc("leave")).stderr).toContain("tc_server_required");
    expect((await command(["tc", "leader", "--server", leader.endpoint])).stderr).toContain(
      "--bundle is missing",
    );

    const left = await command(["tc", "leave", "--bundle", leader.bundleFile, "--server", leader.endpoint]);
    expect([left.code, left.stderr]).toEqual([0, ""]);
    await until(10_000 + 10 * cluster.ttlMs, "it may stop", async () =>
      leader.log.includes("may be stopped"),
    );
    const rest = cluster.nodes.filter((node) => node !== leader);
    for (const node of rest) expect(await cluster.list(node)).not.toContain(leader.endpoint);
    // No decision waits for it to be applied there.
    for (const node of rest) expect(await registered(node)).not.toContain(leader.endpoint);
    await until(10 * cluster.ttlMs, "one of the others leads", async () => {
      const view = await cluster.leaderAt(rest[0] as ClusterNode);
      return rest.some(({ identity }) => identity === view?.leader_id);
    });
    expect((await decide(rest[0] as ClusterNode, "after-leave", "commit")).body).toMatchObject({
      pending: [],
    });
    await leader.process?.end("SIGTERM");
  });

  it("tenure tc unregisters a resource manager that is gone for good, with the bundle of a server", async () => {
    const leader = await cluster.leader();
    const extra = { backend_hash: "lost", endpoint: "https://127.0.0.1:1" };
    const register = () =>
      cluster.ask(leader, "POST", "/v1/tc/rm/register", { as: leader.bundle, body: extra });
    expect((await register()).status).toBe(200);
    expect((await decide(leader, "waits", "commit")).body).toMatchObject({ pending: [extra.endpoint] });
    const unregister = (bundle: string, endpoint: string) =>
      command(["tc", "rm", "unregister", endpoint, "--bundle", bundle, "--server", leader.endpoint]);
    expect((await unregister(cluster.clerkFile, extra.endpoint)).stderr).toContain("tc_server_required");
    expect((await unregister(leader.bundleFile, "https://127.0.0.1:2")).stderr).toContain(
      "is not registered",
    );
    expect(await unregister(leader.bundleFile, `${extra.endpoint}/`)).toMatchObject({ code: 0, stderr: "" });
    await until(10 * cluster.ttlMs, "nothing waits any more", async () => {
      const { body } = await cluster.ask(leader, "GET", "/v1/tc/decisions/waits");
      return Array.isArray(body["pending"]) && body["pending"].length === 0;
    });
  });
});

describe("a server that has moved", () => {
  it("a server that has moved is registered only at its new endpoint, so decisions do not wait for the old one", async () => {
    const leader = await cluster.leader();
    const moved = cluster.nodes.find((node) => node !== leader) as ClusterNode;
    await moved.process?.end("SIGKILL");
    const [port = 0] = await freePorts(1);
    await cluster.start(moved, { args: ["--listen", `127.0.0.1:${port}`] });
    await until(30 * cluster.ttlMs, "it is registered at its new endpoint alone", async () => {
      const list = await registered(leader);
      return list.includes(`https://127.0.0.1:${port}`) && !list.includes(moved.endpoint);
    });
    await until(10 * cluster.ttlMs, "a decision is applied everywhere", async () => {
      const { body } = await decide(leader, "moved", "commit");
      return Array.isArray(body["pending"]) && body["pending"].length === 0;
    });
    await moved.process?.end("SIGTERM");
  });
});
