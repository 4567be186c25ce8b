/** Laws of groups as an operator keeps them, and of their history. */
import assert from "node:assert/strict";
import { ConflictError, GroupNotFoundError } from "../errors.js";
import { DEFAULT_POLICY } from "../policy.js";
import {
  type AdminBench,
  arrived,
  candidate,
  claimOf,
  elected,
  type ElectorLaw,
  isLeader,
  lost,
  newGroupId,
  WatchProbe,
  win,
} from "./elector-support.js";

const BY = "operator";
const isConflict = (error: unknown) => error instanceof ConflictError;
const isNotFound = (error: unknown) => error instanceof GroupNotFoundError;

export function groupLaws(law: ElectorLaw<AdminBench>): void {
  law("a group can be created once, even if it was led before", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    await win(elector, candidate(groupId, "a"));
    assert.equal((await other.group(groupId)).explicit, false);
    const policy = { minTtlMs: 1000, maxTtlMs: 30_000 };
    const created = await other.createGroup({ groupId, policy, allowedNodes: ["a", "b"] });
    assert.deepEqual(created.policy, { ...DEFAULT_POLICY, ...policy });
    assert.deepEqual([created.groupId, created.explicit, created.term], [groupId, true, 1]);
    assert.deepEqual(created.allowedNodes, ["a", "b"]);
    isLeader(created.leader, "a", 1);
    await assert.rejects(elector.createGroup({ groupId }), isConflict);
    const { leader, ...rest } = await elector.group(groupId);
    const { leader: createdLeader, ...createdRest } = created;
    assert.deepEqual(rest, createdRest);
    assert.equal(leader?.nodeId, createdLeader?.nodeId);
  });

  law("an update is merged into the current policy, whichever server receives it", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    await elector.createGroup({ groupId, policy: { maxTtlMs: 30_000 }, allowedNodes: ["a"] });
    await other.updateGroup({ groupId, policy: { minTtlMs: 2000, retry: { initialMs: 50 } } });
    const group = await elector.updateGroup({ groupId, policy: { takeoverDelayMs: 100 } });
    assert.deepEqual(group.policy, {
      ...DEFAULT_POLICY,
      minTtlMs: 2000,
      maxTtlMs: 30_000,
      takeoverDelayMs: 100,
      retry: { ...DEFAULT_POLICY.retry, initialMs: 50 },
    });
    assert.deepEqual(group.allowedNodes, ["a"]);
    assert.equal((await other.updateGroup({ groupId, allowedNodes: null })).allowedNodes, null);
  });

  law("a led group is deleted only by force, and its term survives", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    await elector.createGroup({ groupId, policy: { minTtlMs: 5000 }, allowedNodes: ["a"] });
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    await assert.rejects(other.deleteGroup({ groupId, by: BY }), isConflict);
    await other.deleteGroup({ groupId, by: BY, force: true });
    await assert.rejects(elector.deleteGroup({ groupId, by: BY }), isNotFound);
    await assert.rejects(elector.group(groupId), isNotFound);
    await assert.rejects(elector.updateGroup({ groupId, allowedNodes: null }), isNotFound);
    assert.deepEqual(await elector.leader(groupId), { leader: null, term: 1, ageMs: 0 });
    const { groups } = await elector.groups({ prefix: groupId });
    assert.deepEqual(groups, []);
    const renewal = await elector.renew({ ...claimOf(leader, 1), ttlMs: 5000 });
    assert.deepEqual(renewal, { kind: "not-leader", currentLeader: null });
    // The policy is gone; the event numbers continue.
    isLeader(await win(elector, candidate(groupId, "b", { ttlMs: 500 })), "b", 2);
    assert.deepEqual((await other.group(groupId)).policy, DEFAULT_POLICY);
    const events = (await other.history(groupId)).events.map(({ number, type, term, by }) => [
      number,
      type,
      term,
      by,
    ]);
    // Events from before the deletion are dropped, sooner or later.
    assert.deepEqual(events.slice(-2), [
      [2, "LEADER_LOST", 1, BY],
      [3, "LEADER_CHANGED", 2, undefined],
    ]);
  });

  law("a group that was never led or created is not found", async ({ elector, groupId }) => {
    await assert.rejects(elector.group(groupId), isNotFound);
    await assert.rejects(elector.updateGroup({ groupId, allowedNodes: null }), isNotFound);
    await assert.rejects(elector.deleteGroup({ groupId, by: BY, force: true }), isNotFound);
    await win(elector, candidate(groupId, "a"));
    assert.equal((await elector.group(groupId)).explicit, false);
  });

  law("a vacant group is deleted without force, and can be created again", async ({ elector, groupId }) => {
    await elector.createGroup({ groupId });
    await elector.pause({ groupId });
    await elector.deleteGroup({ groupId, by: BY });
    const created = await elector.createGroup({ groupId });
    assert.deepEqual([created.explicit, created.term, created.pausedForMs], [true, 0, null]);
    isLeader(await win(elector, candidate(groupId, "a")), "a", 1);
  });

  law("groups are listed in pages, in order of their ids", async (bench) => {
    const { elector } = bench;
    const prefix = `${newGroupId()}/`;
    const ids = ["b", "a", "d/1", "c", "A", "e"].map((name) => prefix + name);
    for (const groupId of ids) await elector.createGroup({ groupId });
    await win(elector, candidate(`${prefix}f`, "implicit"));
    const expected = [...ids, `${prefix}f`].sort((x, y) => (x < y ? -1 : 1));
    const other = await bench.other();
    const all = await other.groups({ prefix });
    assert.deepEqual(
      all.groups.map((group) => group.groupId),
      expected,
    );
    assert.equal(all.cursor, null);
    const paged: string[] = [];
    let cursor: string | undefined;
    for (let pages = 1; ; pages++) {
      const page = await other.groups({ prefix, limit: 3, cursor });
      paged.push(...page.groups.map((group) => group.groupId));
      if (page.cursor === null) {
        assert.equal(pages, 3);
        break;
      }
      assert.equal(page.groups.length, 3);
      cursor = page.cursor;
    }
    assert.deepEqual(paged, expected);
    assert.deepEqual(await other.groups({ prefix: `${prefix}none` }), { groups: [], cursor: null });
  });

  law("groups that the caller may not see are left out before the pages are cut", async (bench) => {
    const { elector } = bench;
    const prefix = `${newGroupId()}/`;
    const ids = Array.from({ length: 8 }, (_, i) => `${prefix}${i}`);
    for (const groupId of ids) await elector.createGroup({ groupId });
    const hidden = new Set([0, 2, 3, 4, 7].map((i) => `${prefix}${i}`));
    const maySee = (groupId: string) => !hidden.has(groupId);
    const first = await elector.groups({ prefix, limit: 2 }, { maySee });
    assert.deepEqual(
      [first.groups.map(({ groupId }) => groupId), first.cursor],
      [[`${prefix}1`, `${prefix}5`], `${prefix}5`],
    );
    const second = await elector.groups({ prefix, limit: 2, cursor: `${prefix}5` }, { maySee });
    // No group follows that the caller may see, and the cursor does not reveal that other groups do.
    assert.deepEqual([second.groups.map(({ groupId }) => groupId), second.cursor], [[`${prefix}6`], null]);
    const none = await elector.groups({ prefix, limit: 2 }, { maySee: () => false });
    assert.deepEqual(none, { groups: [], cursor: null });
  });

  law("a change of policy also applies to campaigns that are already waiting", async (bench) => {
    const { elector, groupId } = bench;
    const leader = candidate(groupId, "a");
    await win(elector, leader);
    const waiting = elector.campaign(candidate(groupId, "b", { waitMs: 1500 }));
    await arrived(elector, groupId);
    await (await bench.other()).updateGroup({ groupId, allowedNodes: ["a", "c"] });
    const next = elector.campaign(candidate(groupId, "c", { waitMs: 10_000 }));
    await arrived(elector, groupId);
    await elector.resign(claimOf(leader, 1));
    isLeader(elected(await next).leader, "c", 2);
    await assert.rejects(waiting);
  });
}

export function historyLaws(law: ElectorLaw<AdminBench>): void {
  law("the history holds the last 64 events, oldest first, at every server", async (bench) => {
    const { elector, groupId } = bench;
    const other = await bench.other();
    assert.deepEqual(await elector.history(groupId), { events: [], acts: [] });
    for (let term = 1; term <= 35; term++) {
      const request = candidate(groupId, `node-${term}`);
      await win(elector, request);
      await (term % 2 === 0 ? elector : other).resign(claimOf(request, term));
      if (term === 1) assert.equal((await other.history(groupId)).events.length, 2);
    }
    for (const server of [elector, other]) {
      const { events } = await server.history(groupId);
      assert.deepEqual(
        events.map((event) => event.number),
        Array.from({ length: 64 }, (_, i) => 7 + i),
      );
      const last = events.at(-1);
      assert.deepEqual([last?.type, last?.term, last?.previousLeaderNodeId], ["LEADER_LOST", 35, "node-35"]);
    }
  });

  law("a watch shows the same events as the history", async ({ elector, groupId }) => {
    const first = candidate(groupId, "a");
    await win(elector, first);
    await elector.stepDown({ groupId, by: BY });
    lost(await elector.campaign(candidate(groupId, "b")));
    await elector.resign(claimOf(first, 1));
    await win(elector, candidate(groupId, "b"));
    const probe = new WatchProbe(elector, groupId, { cursor: 0 });
    const watched = (await probe.take(3)).map(({ groupId: _, cursor, ...event }) => ({
      number: cursor,
      ...event,
    }));
    await probe.stop();
    assert.deepEqual(watched, (await elector.history(groupId)).events);
  });
}
