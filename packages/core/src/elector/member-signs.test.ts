/** Only a node that the group admitted counts as a member. */
import { expect, test } from "vitest";
import { failureOf, inWorld, type World } from "./world.test-kit.js";

const A = { groupId: "g", nodeId: "a", ttlMs: 5000, instanceId: "a1" };
const LONGER_THAN_A_PERIOD_MS = 25_000;

async function keysOf(w: World): Promise<readonly string[]> {
  for await (const { entries } of w.truth.feed()) return entries.map(({ key }) => key).sort();
  return [];
}

test(
  "campaigns in groups that must be created first leave no key in the store",
  inWorld(async (w) => {
    const { elector } = w.server({ explicitGroups: true, keepMembers: true });
    for (const waitMs of [0, 1000]) {
      const refused = failureOf(elector.campaign({ ...A, waitMs }));
      expect((await w.until(refused)).value).toMatchObject({ code: "GROUP_NOT_FOUND" });
    }
    await w.clock.advance(LONGER_THAN_A_PERIOD_MS);
    expect(await keysOf(w)).toEqual([]);
  }),
);

test(
  "a node refused by allowed nodes or ttl bounds is not listed as a member",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await w.until(elector.createGroup({ groupId: "g", allowedNodes: ["a", "b"] }));
    await w.until(elector.campaign(A));
    for (const waitMs of [0, 1000]) {
      const stranger = failureOf(elector.campaign({ ...A, nodeId: "stranger", waitMs }));
      expect((await w.until(stranger)).value).toMatchObject({ code: "UNAUTHORIZED" });
      const hasty = failureOf(elector.campaign({ ...A, nodeId: "b", ttlMs: 1, waitMs }));
      expect((await w.until(hasty)).value).toMatchObject({ code: "INVALID_TTL" });
    }
    const { value: members } = await w.until(elector.members("g"));
    expect(members.map(({ nodeId }) => nodeId)).toEqual(["a"]);
  }),
);

test(
  "a waiting campaign counts as activity at every server, written at most once a period",
  inWorld(async (w) => {
    const { elector: one, store } = w.server({ keepMembers: true });
    const { elector: two } = w.server({ keepMembers: true });
    await w.until(one.createGroup({ groupId: "g" }));
    await w.until(one.pause({ groupId: "g" }));
    const waiting = one.campaign({ ...A, waitMs: 60_000 });
    await w.clock.advance(55_000);
    for (const elector of [one, two]) {
      const { value: health } = await w.until(elector.health("g"));
      expect(health.map(({ nodeId, state }) => [nodeId, state])).toEqual([["a", "healthy"]]);
    }
    expect(store.sentTo("m/")).toBeLessThanOrEqual(6);
    expect((await w.until(waiting)).value.kind).toBe("lost");
    await w.clock.advance(60_000);
    expect((await w.until(one.members("g"))).value).toEqual([]);
  }),
);

test(
  "a campaign that starts to wait is known at other servers in the next turn, whatever pages are being written",
  inWorld(async (w) => {
    const { elector: one } = w.server({ keepMembers: true });
    const { elector: two } = w.server({ keepMembers: true });
    await w.until(one.campaign({ ...A, ttlMs: 60_000 }));
    // Pages of other groups keep the slices of the second server busy.
    const others = Array.from({ length: 200 }, (_, i) =>
      two.campaign({ ...A, groupId: `g${i}`, ttlMs: 60_000 }),
    );
    await w.until(Promise.all(others));
    await w.clock.advance(1000);
    for (let i = 0; i < 200; i++) await w.until(two.heartbeat({ groupId: `g${i}`, nodeId: "d" }));
    const waiting = two.campaign({ ...A, nodeId: "b", instanceId: "b1", waitMs: 10_000 });
    await w.clock.advance(0);
    expect((await w.until(one.members("g"))).value.map(({ nodeId }) => nodeId)).toEqual(["a", "b"]);
    // The next campaign at the same server is written within a second, not a period.
    const next = two.campaign({ ...A, nodeId: "c", instanceId: "c1", waitMs: 10_000 });
    await w.clock.advance(1000);
    expect((await w.until(one.members("g"))).value.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c"]);
    await w.until(Promise.all([waiting, next]));
  }),
);

test(
  "a leader whose lease expired is suspect at every server until it is active again",
  inWorld(async (w) => {
    const { elector: one } = w.server({ keepMembers: true });
    const { elector: two } = w.server({ keepMembers: true });
    const states = async () => {
      const seen = await Promise.all([one, two].map(async (each) => (await w.until(each.health("g"))).value));
      return seen.map((members) =>
        Object.fromEntries(members.map(({ nodeId, state, reason }) => [nodeId, [state, reason]])),
      );
    };
    await w.until(one.campaign(A));
    const waiting = two.campaign({ ...A, nodeId: "b", instanceId: "b1", waitMs: 30_000 });
    await w.clock.advance(6000);
    expect((await w.until(waiting)).value.kind).toBe("elected");
    const alive = ["healthy", "seen recently"];
    const expired = { a: ["suspect", "its lease expired"], b: alive };
    expect(await states()).toEqual([expired, expired]);
    await w.until(one.heartbeat({ groupId: "g", nodeId: "a" }));
    await w.clock.advance(11_000);
    await w.until(two.heartbeat({ groupId: "g", nodeId: "b" }));
    expect((await states()).map(({ a }) => a)).toEqual([alive, alive]);
  }),
);
