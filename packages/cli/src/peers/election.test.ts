/** Servers without a shared store, as processes with mTLS on loopback: they elect, fail over, lose their quorum, leave and join. */
import { writeFileSync } from "node:fs";
import { boundMs } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { EXIT } from "../frame/shell.js";
import { command } from "../frame/command.test-kit.js";
import { type ClusterNode, TestCluster } from "./cluster.test-kit.js";

let cluster: TestCluster;

const termAt = async (node: ClusterNode): Promise<number> => (await cluster.leaderAt(node))?.term ?? 0;

describe("a cluster of three servers", () => {
  let fourth: ClusterNode;
  // One cluster for all tests: each leaves it with servers missing, and the next begins with all three.
  beforeAll(async () => {
    cluster = await TestCluster.of(["a", "b", "c", "d"], { trustDomain: "lockd" });
    fourth = cluster.node(3);
  });
  beforeEach(async () => {
    const three = cluster.nodes.filter((node) => node !== fourth);
    const join = three.map(({ endpoint }) => endpoint);
    const missing = three.filter(({ process }) => process?.isRunning !== true);
    await Promise.all(missing.map((node) => cluster.start(node, { join })));
    await cluster.settled();
  });
  afterAll(() => cluster.close());

  const others = (node: ClusterNode): readonly ClusterNode[] =>
    cluster.running.filter((each) => each !== node);

  it("three servers elect a leader; after it is killed they elect another one with a higher term, and the restarted server follows it", async () => {
    const first = await cluster.leader();
    const term = await termAt(first);
    await first.process?.end("SIGKILL");
    const second = await cluster.leader();
    expect(second).not.toBe(first);
    expect(await termAt(second)).toBeGreaterThan(term);
    await cluster.start(first);
    await cluster.settled();
    expect(await cluster.leading()).toEqual([second]);
  });

  it("three servers have no leader while two of them are down, and elect one when one of the two is back", async () => {
    const leader = await cluster.leader();
    const term = await termAt(leader);
    const gone = others(leader);
    for (const node of gone) await node.process?.end("SIGKILL");
    await until(
      5 * cluster.ttlMs,
      "the leader steps down",
      async () => (await cluster.leading()).length === 0,
    );
    expect((await cluster.leaderAt(leader))?.leader_id).toBeNull();
    // Its answers follow the clock; its log comes when the deadline is handled, through a pipe.
    await until(cluster.ttlMs, "it says so", async () => leader.log.includes("no longer coordinator"));
    const asked = ["tc", "leader", "--bundle", cluster.clerkFile, "--server", leader.endpoint];
    expect(await command(asked)).toMatchObject({
      code: EXIT.unavailable,
      stdout: expect.stringMatching(/^no coordinator \(term \d+\)\n$/) as string,
    });
    await cluster.start(gone[0] as ClusterNode);
    const next = await cluster.leader();
    expect(await termAt(next)).toBeGreaterThan(term);
  });

  it("a leader that is asked to stop leaves at once and is removed, and the other servers elect a leader", async () => {
    const leader = await cluster.leader();
    const rest = others(leader);
    expect(await leader.process?.end("SIGTERM")).toBe(0);
    // Not by expiry: they know at once.
    for (const node of rest)
      expect(await cluster.list(node)).toEqual(rest.map(({ endpoint }) => endpoint).toSorted());
    await cluster.settled();
  });

  it("a server may be killed right after it left, and a server that comes back after it left can lead again", async () => {
    const leader = await cluster.leader();
    const [hasty, last] = others(leader) as [ClusterNode, ClusterNode];
    const leave = (node: ClusterNode) =>
      cluster.ask(node, "POST", "/v1/tc/cluster/leave", { as: node.bundle });
    expect((await leave(hasty)).status).toBe(200);
    await hasty.process?.end("SIGKILL");
    await cluster.settled();
    expect(await cluster.leading()).toEqual([leader]);

    // The last but one leaves and returns before it is removed; then it is alone, and must be able to lead.
    expect((await leave(last)).status).toBe(200);
    const body = { self_endpoint: last.endpoint, disk: "its own" };
    const path = "/v1/tc/cluster/announce";
    expect((await cluster.ask(last, "POST", path, { as: last.bundle, body })).status).toBe(200);
    await cluster.settled();
    await leader.process?.end("SIGTERM");
    await cluster.settled();
    expect(await cluster.leading()).toEqual([last]);
  });

  it("three servers admit a fourth that knows only one of them, and it votes", async () => {
    const [a, b] = cluster.running as [ClusterNode, ClusterNode];
    await cluster.start(fourth, { join: [a.endpoint] });
    await cluster.settled();
    // Three of four are needed now: without two there is no leader.
    for (const node of [a, b]) await node.process?.end("SIGKILL");
    await until(8 * cluster.ttlMs, "no leader", async () => (await cluster.leading()).length === 0);
  });
});

describe("a server whose leave is not confirmed", () => {
  afterEach(() => cluster.close());

  it("a server whose leave is not confirmed stops after four leases, and within ten seconds", async () => {
    cluster = await TestCluster.started(["a", "b"], { ttlMs: 600 });
    const [a, b] = cluster.nodes as [ClusterNode, ClusterNode];
    await b.process?.end("SIGKILL");
    const sinceMs = performance.now();
    expect(await a.process?.end("SIGTERM")).toBe(0);
    expect(performance.now() - sinceMs).toBeLessThan(boundMs(10_000));
  });
});

describe("a server with a reissued bundle", () => {
  afterEach(() => cluster.close());

  it("a server continues to lead with its reissued bundle, and warns of one that names another server", async () => {
    cluster = await TestCluster.started(["a", "b"]);
    const leader = await cluster.leader();
    const term = await termAt(leader);
    const renew = async (name: string, text: RegExp): Promise<void> => {
      const { key, cert, ca } = await cluster.bundle("server", name);
      writeFileSync(leader.bundleFile, `${key}\n${cert}\n${ca}\n`);
      await until(10_000, `the log says ${text.source}`, async () => text.test(leader.log));
    };
    await renew(leader.name, /have been renewed/);
    const other = cluster.nodes.find((node) => node !== leader) as ClusterNode;
    // Its renewals continue for longer than a lease.
    const lookedMs = performance.now();
    await until(
      5 * cluster.ttlMs,
      "a lease has passed",
      async () => performance.now() - lookedMs > 2 * cluster.ttlMs,
    );
    expect(await termAt(other)).toBe(term);
    expect(await cluster.leading()).toEqual([leader]);
    await renew("stranger", /names another server/);
  });
});

describe("a single server", () => {
  afterEach(() => cluster.close());

  it("a single server leads at once, and again with a higher term after a restart with the same disk", async () => {
    cluster = await TestCluster.started(["a"]);
    const node = cluster.node(0);
    const before = await cluster.leaderAt(node);
    await node.process?.end("SIGKILL");
    await cluster.start(node);
    await cluster.leader();
    const after = await cluster.leaderAt(node);
    expect(after?.term).toBeGreaterThan(before?.term ?? 0);
    expect(after?.peer.disk).toBe(before?.peer.disk);
  });
});
