/** Laws of a planned handover. */
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
  lost,
  LEASE_MS,
  successorAsked,
  win,
} from "./elector-support.js";

const BY = "operator";
const isConflict = (error: unknown) => error instanceof ConflictError;

export function transferLaws(law: ElectorLaw<AdminBench>): void {
  law(
    "after a transfer the named successor wins once the leader resigns, at whichever server it waits",
    async (bench) => {
      const { elector, groupId } = bench;
      const other = await bench.other();
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      const bystander = elector.campaign(candidate(groupId, "bystander", { waitMs: LONG_MS }));
      await arrived(elector, groupId);
      const successor = other.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      await arrived(other, groupId);
      const transfer = elector.transfer({ groupId, toNodeId: "b", by: BY });
      assert.equal(await successorAsked(elector, leader, 1), "b");
      assert.equal(elected(await elector.campaign(leader)).transferTo, "b");
      assert.deepEqual(await elector.resign(claimOf(leader, 1)), { kind: "resigned" });
      isLeader(elected(await successor).leader, "b", 2);
      isLeader(await transfer, "b", 2);
      const loss = (await elector.history(groupId)).events.find(({ type }) => type === "LEADER_LOST");
      assert.deepEqual([loss?.reason, loss?.by], ["transferred", BY]);
      await elector.stepDown({ groupId, by: BY, force: true });
      isLeader(elected(await bystander).leader, "bystander", 3);
    },
  );

  law(
    "the leader is not asked to yield before its successor waits, and keeps leading until then",
    async (bench) => {
      const { elector, groupId } = bench;
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      // The elector knows this candidate, but it does not wait now.
      lost(await elector.campaign(candidate(groupId, "b")));
      const transfer = elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: LONG_MS });
      await arrived(elector, groupId);
      for (let i = 0; i < 3; i++) {
        const renewal = await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS });
        assert(renewal.kind === "renewed" && renewal.transferTo === undefined);
      }
      const successor = (await bench.other()).campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      assert.equal(await successorAsked(elector, leader, 1), "b");
      await elector.resign(claimOf(leader, 1));
      isLeader(await transfer, "b", 2);
      elected(await successor);
    },
  );

  law("a transfer to a node that does not wait is a conflict and changes nothing", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    await assert.rejects(elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: 200 }), isConflict);
    lost(await elector.campaign(candidate(groupId, "b")));
    await assert.rejects(elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: 200 }), isConflict);
    assert.equal((await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS })).kind, "renewed");
    await elector.resign(claimOf(leader, 1));
    isLeader(await win(await bench.other(), candidate(groupId, "c")), "c", 2);
  });

  law("a leader that does not yield in time keeps the leadership", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    const waiting = elector.campaign(candidate(groupId, "b", { waitMs: 1000 }));
    await arrived(elector, groupId);
    await assert.rejects(elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: 300 }), isConflict);
    const renewal = await elector.renew({ ...claimOf(leader, 1), ttlMs: LONG_MS });
    assert(renewal.kind === "renewed" && renewal.transferTo === undefined);
    isLeader(lost(await waiting).leader, "a", 1);
  });

  law(
    "after the leader has resigned only the successor wins, even if others campaign first",
    async (bench) => {
      const { elector, groupId } = bench;
      const other = await bench.other();
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      const successor = other.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      await arrived(other, groupId);
      const transfer = elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: LONG_MS });
      assert.equal(await successorAsked(elector, leader, 1), "b");
      await elector.resign(claimOf(leader, 1));
      const refused = lost(await elector.campaign(candidate(groupId, "c")));
      assert(refused.leader?.nodeId === "b" || refused.heldBack === "reserved");
      isLeader(elected(await successor).leader, "b", 2);
      isLeader(await transfer, "b", 2);
    },
  );

  law("a leader that resigns before its successor waits leaves the group to any candidate", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    lost(await elector.campaign(candidate(groupId, "b")));
    const refused = assert.rejects(
      elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: LONG_MS }),
      isConflict,
    );
    await arrived(elector, groupId);
    await elector.resign(claimOf(leader, 1));
    isLeader(await win(await bench.other(), candidate(groupId, "c")), "c", 2);
    await refused;
  });

  law(
    "a transfer is done once its successor was elected, even if the successor has resigned since",
    async (bench) => {
      const { elector, groupId } = bench;
      const leader = candidate(groupId, "a");
      await win(elector, leader);
      const successor = candidate(groupId, "b", { waitMs: LONG_MS });
      const waiting = elector.campaign(successor).then((result) => {
        elected(result);
        return elector.resign(claimOf(successor, 2));
      });
      await arrived(elector, groupId);
      const transfer = elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: LONG_MS });
      assert.equal(await successorAsked(elector, leader, 1), "b");
      await elector.resign(claimOf(leader, 1));
      await waiting;
      const { nodeId, term } = await transfer;
      assert.deepEqual([nodeId, term], ["b", 2]);
    },
  );

  law("after an expiry a transfer is void: any candidate can win", async ({ elector, groupId }) => {
    await win(elector, candidate(groupId, "a", { ttlMs: LEASE_MS }));
    lost(await elector.campaign(candidate(groupId, "b")));
    const transfer = elector.transfer({ groupId, toNodeId: "b", by: BY, timeoutMs: LONG_MS });
    const refused = assert.rejects(transfer, isConflict);
    isLeader(elected(await elector.campaign(candidate(groupId, "c", { waitMs: LONG_MS }))).leader, "c", 2);
    await refused;
  });

  law("a transfer that the state of the group does not allow is a conflict", async ({ elector, groupId }) => {
    const transfer = (toNodeId: string) => elector.transfer({ groupId, toNodeId, by: BY, timeoutMs: 1000 });
    await elector.createGroup({ groupId });
    await assert.rejects(transfer("b"), isConflict, "a group without a leader");
    await win(elector, candidate(groupId, "a"));
    isLeader(await transfer("a"), "a", 1);
    await elector.pause({ groupId });
    await assert.rejects(transfer("b"), isConflict, "a paused group");
    await elector.resume({ groupId });
    await elector.updateGroup({ groupId, allowedNodes: ["a", "b"] });
    await assert.rejects(transfer("c"), isConflict, "a node that is not allowed");
    lost(await elector.campaign(candidate(groupId, "b")));
    const first = transfer("b");
    const refused = assert.rejects(first, isConflict);
    await arrived(elector, groupId);
    await assert.rejects(transfer("b"), isConflict, "one that is under way");
    await elector.stepDown({ groupId, by: BY });
    await refused;
    await assert.rejects(transfer("b"), isConflict, "a leader that was stepped down");
  });
}
