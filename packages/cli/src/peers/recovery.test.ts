/** A majority is lost: two of three servers are killed and their disks are gone. Real processes, by the command. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { EXIT } from "../frame/shell.js";
import { command, type Finished } from "../frame/command.test-kit.js";
import { type ClusterNode, TestCluster } from "./cluster.test-kit.js";

describe("a cluster that has lost a majority", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.started(["a", "b", "c"]);
  });
  afterAll(() => cluster.close());

  const at = (node: ClusterNode, args: readonly string[]): Promise<Finished> =>
    command(["tc", ...args, "--bundle", node.bundleFile, "--server", node.endpoint]);

  it("one server can be made the only elector of a cluster without a majority, keeps its decisions, and readmits the others", async () => {
    const leader = await cluster.leader();
    const [left, other] = cluster.nodes.filter((node) => node !== leader) as [ClusterNode, ClusterNode];
    const decide = (decision: string) =>
      cluster.ask(left, "POST", "/v1/tc/decide", { body: { txn_id: "t", decision } });
    expect((await decide("commit")).status).toBe(200);
    const before = (await cluster.leaderAt(left))?.peer.config;
    const lost = ["--lost", leader.identity, other.identity];
    const recover = (...args: readonly string[]) => at(left, ["recover", ...lost, ...args]);

    // While they are there, or one of them is only stopped, the recovery is refused.
    expect((await recover()).stderr).toContain("announced itself");
    leader.process?.pause();
    await other.process?.end("SIGKILL");
    await until(12 * cluster.ttlMs, "both have expired", async () => (await cluster.list(left)).length === 1);
    expect((await recover()).stderr).toMatch(
      /is not lost: something accepts connections there.*tc_recovery_refused/,
    );
    const status = await at(left, ["status"]);
    expect([status.code, status.stdout]).toEqual([
      EXIT.unavailable,
      expect.stringContaining("there is no coordinator: 2 of the 3 electors are needed") as string,
    ]);

    leader.process?.resume();
    await leader.process?.end("SIGKILL");
    for (const node of [leader, other]) cluster.wipe(node);
    let planned: Finished | undefined;
    await until(6 * cluster.ttlMs, "no lease is held any more", async () => {
      planned = await recover();
      return planned.stderr === "";
    });
    expect(planned).toMatchObject({
      code: EXIT.failed,
      stdout: expect.stringContaining(`--confirm ${before?.cluster}`) as string,
    });
    expect((await recover("--confirm", "another")).stderr).toContain("confirm must be the id of the cluster");
    expect((await cluster.leaderAt(left))?.peer.config).toEqual(before);
    const done = await recover("--confirm", before?.cluster ?? "");
    expect([done.code, done.stderr]).toEqual([EXIT.done, ""]);
    await until(10_000, "the log says so", async () =>
      left.log.includes("the only elector after a recovery"),
    );

    expect(await cluster.leader()).toBe(left);
    expect((await cluster.leaderAt(left))?.term).toBeGreaterThan(before?.epoch[0] ?? 0);
    expect(await decide("abort")).toMatchObject({
      status: 409,
      body: { error: "txn_conflict", decision: "commit" },
    });
    await Promise.all([leader, other].map((node) => cluster.start(node, { join: [left.endpoint] })));
    await cluster.settled();
    expect((await cluster.leaderAt(other))?.peer.config?.cluster).toBe(before?.cluster);
  });
});
