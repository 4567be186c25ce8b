/** Laws of warm standby: which candidate is next, depending on readiness. */
import assert from "node:assert/strict";
import { ConflictError } from "../errors.js";
import {
  type AdminBench,
  arrived,
  candidate,
  claimOf,
  elected,
  type ElectorLaw,
  isLeader,
  LONG_MS,
  successorAsked,
  win,
} from "./elector-support.js";

const BY = "operator";

export function readinessLaws(law: ElectorLaw): void {
  law("a vacancy goes to a ready candidate before a cold one that came first", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    const cold = elector.campaign(candidate(groupId, "cold", { waitMs: LONG_MS, ready: false }));
    await arrived(elector, groupId);
    const warm = candidate(groupId, "warm", { waitMs: LONG_MS, ready: true });
    const ready = elector.campaign(warm);
    await arrived(elector, groupId);
    await elector.resign(claimOf(leader, 1));
    isLeader(elected(await ready).leader, "warm", 2);
    await elector.resign(claimOf(warm, 2));
    isLeader(elected(await cold).leader, "cold", 3);
  });

  law("a cold candidate wins a vacancy if no ready candidate waits", async ({ elector, groupId }) => {
    isLeader(await win(elector, candidate(groupId, "a", { ready: false })), "a", 1);
  });
}

export function readinessAdminLaws(law: ElectorLaw<AdminBench>): void {
  law("a leader is asked to yield to a ready challenger, and not to a cold one", async (bench) => {
    const { elector, groupId } = bench;
    await elector.createGroup({ groupId, policy: { strategy: "priority", preempt: true } });
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    const higher = { priority: 9, waitMs: LONG_MS };
    const cold = elector.campaign(candidate(groupId, "cold", { ...higher, ready: false }));
    await arrived(elector, groupId);
    const ready = elector.campaign(candidate(groupId, "ready", { ...higher, priority: 1 }));
    assert.equal(await successorAsked(elector, leader, 1), "ready");
    await elector.resign(claimOf(leader, 1));
    isLeader(elected(await ready).leader, "ready", 2);
    await elector.stepDown({ groupId, by: BY, force: true });
    isLeader(elected(await cold).leader, "cold", 3);
  });

  law(
    "a transfer to a cold node is a conflict that says so, unless a cold successor is allowed",
    async (bench) => {
      const { elector, groupId } = bench;
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      const cold = elector.campaign(candidate(groupId, "cold", { waitMs: LONG_MS, ready: false }));
      await arrived(elector, groupId);
      const request = { groupId, toNodeId: "cold", by: BY };
      await assert.rejects(elector.transfer(request), isConflict(/cold is still preparing.*allow_cold/));
      const renewal = await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS });
      assert(renewal.kind === "renewed" && renewal.transferTo === undefined);
      const transfer = elector.transfer({ ...request, allowCold: true });
      assert.equal(await successorAsked(elector, leader, 1), "cold");
      await elector.resign(claimOf(leader, 1));
      isLeader(await transfer, "cold", 2);
      elected(await cold);
    },
  );

  law(
    "a transfer without a target goes to a ready candidate, and is a conflict if none waits",
    async (bench) => {
      const { elector, groupId } = bench;
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      const cold = elector.campaign(candidate(groupId, "cold", { waitMs: LONG_MS, ready: false }));
      await arrived(elector, groupId);
      await assert.rejects(elector.transfer({ groupId, by: BY }), isConflict(/is still preparing/));
      const warm = elector.campaign(candidate(groupId, "warm", { waitMs: LONG_MS }));
      await arrived(elector, groupId);
      const transfer = elector.transfer({ groupId, by: BY });
      assert.equal(await successorAsked(elector, leader, 1), "warm");
      await elector.resign(claimOf(leader, 1));
      isLeader(await transfer, "warm", 2);
      elected(await warm);
      await elector.stepDown({ groupId, by: BY, force: true });
      elected(await cold);
    },
  );

  law("the list of members shows which members are ready, if the elector keeps one", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a", { ready: false }));
    const shown = async () => (await elector.members(groupId)).map(({ nodeId, ready }) => [nodeId, ready]);
    const isKept = (await shown()).length > 0;
    assert.deepEqual(await shown(), isKept ? [["a", false]] : []);
    await elector.heartbeat({ groupId, nodeId: "a", ready: true });
    assert.deepEqual(await shown(), isKept ? [["a", true]] : []);
  });
}

function isConflict(message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof ConflictError && message.test(error.message);
}
