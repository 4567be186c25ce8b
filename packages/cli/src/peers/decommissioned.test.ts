/** A server that was removed from the cluster and whose certificate was revoked can do nothing, on any route. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { command } from "../frame/command.test-kit.js";
import { type AskOptions, type ClusterNode, TestCluster } from "./cluster.test-kit.js";

const ROUTES: readonly (readonly ["GET" | "POST", string])[] = [
  ["GET", "/v1/tc/leader"],
  ["GET", "/v1/tc/cluster/list"],
  ["GET", "/v1/tc/rm/list"],
  ["GET", "/v1/tc/status"],
  ["GET", "/v1/tc/nothing"],
  ["GET", "/v1/tc/decisions/t"],
  ["POST", "/v1/tc/decide"],
  ["POST", "/v1/tc/cluster/announce"],
  ["POST", "/v1/tc/cluster/leave"],
  ["POST", "/v1/tc/rm/register"],
  ["POST", "/v1/tc/rm/unregister"],
  ["POST", "/v1/tc/lease/acquire"],
  ["POST", "/v1/tc/lease/renew"],
  ["POST", "/v1/tc/lease/release"],
  ["POST", "/v1/tc/decisions/prepare"],
  ["POST", "/v1/tc/decisions/remember"],
  ["POST", "/v1/tc/decisions/held"],
  ["POST", "/v1/tc/decisions/tell"],
  ["POST", "/v1/rm/apply"],
];
const REFUSED = ["tc_client_required", "tc_server_required", "tc_cluster_identity_missing"];

describe("a decommissioned server", () => {
  let cluster: TestCluster;
  let list: string;
  let ca: string;
  beforeAll(async () => {
    cluster = await TestCluster.of(["a", "b", "c"], { ttlMs: 5000 });
    [list, ca] = [join(cluster.directory, "crl.pem"), join(cluster.directory, "ca.pem")];
    writeFileSync(ca, await cluster.authority.pem(), { mode: 0o600 });
    expect((await command(["ca", "revoke", "--ca", ca, "--out", list])).code).toBe(0);
    await Promise.all(cluster.nodes.map((node) => cluster.start(node, { args: ["--tls-crl", list] })));
    await cluster.settled();
  });
  afterAll(() => cluster.close());

  it("a decommissioned server is refused on every route once the list names it, even on open connections, and the others continue", async () => {
    const leader = await cluster.leader();
    const [gone, stays] = cluster.nodes.filter((node) => node !== leader) as [ClusterNode, ClusterNode];
    const asGone: AskOptions = { as: gone.bundle };
    expect((await cluster.ask(leader, "GET", "/v1/tc/leader", asGone)).status).toBe(200);
    await gone.process?.end("SIGTERM");
    await cluster.settled();

    const revoked = await command(["ca", "revoke", gone.bundleFile, "--ca", ca, "--out", list]);
    expect([revoked.code, revoked.stderr]).toEqual([0, ""]);
    expect(revoked.stdout).toContain(gone.bundle.serial);
    await until(20_000, "the list is taken up", async () => {
      const answers = await Promise.all(
        [leader, stays].map((node) => cluster.ask(node, "GET", "/v1/tc/leader", asGone)),
      );
      return answers.every(({ status }) => status === 403);
    });
    const before = await cluster.leaderAt(leader);
    for (const node of [leader, stays]) {
      for (const [method, path] of ROUTES) {
        const body = method === "GET" ? {} : { body: { txn_id: "t", decision: "commit" } };
        const answer = await cluster.ask(node, method, path, { ...asGone, ...body });
        expect([path, answer.status, REFUSED]).toEqual([
          path,
          403,
          expect.arrayContaining([answer.body["error"]]),
        ]);
      }
    }
    // It cannot come back either, and the rest continues to lead and decide.
    const others = [leader.endpoint, stays.endpoint];
    const again = await cluster.scratch.run(["serve", ...cluster.arguments(gone, { join: others })]);
    expect([again.code, again.stderr]).toEqual([
      2,
      expect.stringContaining("none of the join targets") as string,
    ]);
    const after = await cluster.leaderAt(leader);
    expect([after?.term, after?.peer.config?.epoch]).toEqual([before?.term, before?.peer.config?.epoch]);
    const body = { txn_id: "t", decision: "commit" };
    expect((await cluster.ask(stays, "POST", "/v1/tc/decide", { body })).status).toBe(200);
  });
});
