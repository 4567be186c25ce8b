/** Laws of the acts of operators: each is kept with its reason, and acts on groups that do not exist are refused. */
import assert from "node:assert/strict";
import { GroupNotFoundError } from "../errors.js";
import type { ActName, GroupAct, OperatorAct } from "../operator-act.js";
import {
  type AdminBench,
  arrived,
  candidate,
  claimOf,
  elected,
  type ElectorLaw,
  LONG_MS,
  SHORT_MS,
  successorAsked,
  win,
} from "./elector-support.js";

const BY = "operator";
const isNotFound = (error: unknown) => error instanceof GroupNotFoundError;

export function actLaws(law: ElectorLaw<AdminBench>): void {
  law(
    "every act of an operator is in the history of its group, with its reason, at every server",
    async (bench) => {
      const { elector, groupId } = bench;
      const other = await bench.other();
      const reason = (act: ActName) => `${act} for a drill`;
      await elector.createGroup({ groupId, by: BY, reason: reason("create") });
      const leader = candidate(groupId, "a");
      await win(other, leader);
      await other.updateGroup({ groupId, by: BY, policy: { maxTtlMs: 30_000 }, reason: reason("update") });
      await elector.pause({ groupId, by: BY, forMs: LONG_MS, reason: reason("pause") });
      await other.resume({ groupId, by: BY, reason: reason("resume") });
      const waiting = elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS }));
      await arrived(elector, groupId);
      const transferred = other.transfer({ groupId, toNodeId: "b", by: BY, reason: reason("transfer") });
      assert.equal(await successorAsked(elector, leader, 1), "b");
      await elector.resign(claimOf(leader, 1));
      elected(await waiting);
      await transferred;
      await elector.stepDown({ groupId, by: BY, banMs: 5000, reason: reason("step-down") });
      const { acts } = await other.history(groupId);
      const expected: readonly (readonly [ActName, Partial<OperatorAct>])[] = [
        ["create", { term: 0 }],
        ["update", { term: 1, changes: ["max_ttl_ms: 60000 -> 30000"] }],
        ["pause", { term: 1, forMs: LONG_MS }],
        ["resume", { term: 1 }],
        ["transfer", { term: 1, nodeId: "b" }],
        ["step-down", { term: 2, nodeId: "b", forMs: 5000 }],
      ];
      assert.deepEqual(
        acts.map(({ by: _by, tsMs: _tsMs, ...act }) => act),
        expected.map(([act, more], index) => ({ number: index + 1, act, reason: reason(act), ...more })),
      );
      assert(acts.every(({ by, tsMs }) => by.length > 0 && tsMs > 0));
      assert.deepEqual((await elector.history(groupId)).acts, acts);
      const [ban] = (await elector.group(groupId)).bans;
      assert(
        ban !== undefined && ban.nodeId === "b" && ban.forMs <= 5000 && ban.reason === reason("step-down"),
      );
    },
  );

  law("a paused group shows who paused it, why and since when, at every server", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a"));
    assert.equal((await elector.group(groupId)).pause, null);
    await elector.pause({ groupId, by: BY, reason: "maintenance" });
    const [pauseAct] = (await elector.history(groupId)).acts;
    const { pause } = await (await bench.other()).group(groupId);
    assert.deepEqual(pause, { by: pauseAct?.by, reason: "maintenance", sinceMs: pauseAct?.tsMs });
    await elector.resume({ groupId, by: BY });
    assert.equal((await elector.group(groupId)).pause, null);
  });

  law(
    "the audit lists acts of all groups, newest first, in pages, by group and by operator",
    async (bench) => {
      const { elector, groupId } = bench;
      const groupIds = ["1", "2", "3"].map((name) => `${groupId}/${name}`);
      for (const each of groupIds) await elector.createGroup({ groupId: each, by: BY, reason: each });
      const first = groupIds[0] ?? "";
      await elector.deleteGroup({ groupId: first, by: BY, reason: "tidy up" });
      const other = await bench.other();
      const { acts: own } = await other.audit({ groupId: first });
      assert.deepEqual(own[0]?.reason, "tidy up");
      const by = own[0]?.by ?? "";
      const [created] = (await other.audit({ groupId: groupIds[1] })).acts;
      const createdMs = created?.tsMs ?? 0;
      const listed: GroupAct[] = [];
      let cursor: string | undefined;
      do {
        const page = await other.audit({ by, limit: 1, cursor });
        listed.push(...page.acts);
        cursor = page.cursor ?? undefined;
        // Acts of one millisecond are in the order of their groups.
      } while (cursor !== undefined && (listed.at(-1)?.tsMs ?? 0) >= createdMs);
      // Acts of other laws may come between. The first group's creation is kept only until its deletion.
      const acts = listed.filter(({ groupId: of, act }) => of !== first || act === "delete");
      assert.deepEqual(
        acts.flatMap(({ groupId: of, reason }) => (of.startsWith(groupId) ? [reason ?? ""] : [])).toSorted(),
        [...groupIds.slice(1), "tidy up"].toSorted(),
      );
      assert(listed.every(({ tsMs }, index) => index === 0 || tsMs <= (listed[index - 1]?.tsMs ?? 0)));
      assert.deepEqual(await other.audit({ by: "nobody-of-this-name" }), { acts: [], cursor: null });
    },
  );

  law("acts on a group that does not exist are refused, and create nothing", async ({ elector, groupId }) => {
    const acts: readonly (() => Promise<unknown>)[] = [
      () => elector.pause({ groupId, by: BY }),
      () => elector.resume({ groupId, by: BY }),
      () => elector.stepDown({ groupId, by: BY }),
      () => elector.transfer({ groupId, by: BY, toNodeId: "b" }),
      () => elector.updateGroup({ groupId, by: BY }),
      () => elector.deleteGroup({ groupId, by: BY }),
    ];
    for (const act of acts) await assert.rejects(act(), isNotFound);
    await assert.rejects(elector.group(groupId), isNotFound);
    await elector.pause({ groupId, by: BY, create: true });
    assert.equal((await elector.group(groupId)).pausedForMs, "until-resumed");
  });

  law("the event of an expired lease says how long the leader had been silent", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a", { ttlMs: SHORT_MS }));
    elected(await elector.campaign(candidate(groupId, "b", { waitMs: LONG_MS })));
    const loss = (await elector.history(groupId)).events.find(({ type }) => type === "LEADER_LOST");
    assert(loss?.silentMs !== undefined && loss.silentMs >= SHORT_MS, `${loss?.silentMs}`);
    await elector.stepDown({ groupId, by: BY, force: true });
    const last = (await elector.history(groupId)).events.at(-1);
    assert.deepEqual([last?.reason, last?.silentMs], ["deposed", undefined]);
  });
}
