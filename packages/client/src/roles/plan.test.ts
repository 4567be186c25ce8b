/** The rule by which roles are spread, applied by several processes until nothing changes. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plan, type PlanUnit } from "./plan.js";
import { shares } from "./shares.js";
import type { RoleMember } from "./state.js";

const member = (nodeId: string, weight = 1, maxRoles = 1_000_000): RoleMember => ({
  nodeId,
  weight,
  maxRoles,
});

const activeAtMs = new Map(["a", "b", "c", "d", "e"].map((nodeId) => [nodeId, 0]));

interface Unit {
  readonly id: string;
  readonly size: number;
  leader: string | null;
}

const units = (count: number, size = 1): Unit[] =>
  Array.from({ length: count }, (_, index) => ({ id: `u${index}`, size, leader: null }));

function seenBy(self: string, all: readonly Unit[], vacantMs = 0): readonly PlanUnit[] {
  return all.map(({ id, size, leader }) => ({
    id,
    size,
    priority: 0,
    owner: leader === null ? "vacant" : leader === self ? "here" : { nodeId: leader },
    vacantSinceMs: 9000 - vacantMs,
    isStray: false,
  }));
}

/** All members act on the same view at once, until none has anything to do; returns how many units moved. */
function settle(all: readonly Unit[], members: readonly RoleMember[]): number {
  let moves = 0;
  for (let round = 0; round < 20; round++) {
    const before = all.map((unit) => ({ ...unit }));
    let isQuiet = true;
    for (const { nodeId } of members) {
      const { take, release } = plan({
        self: nodeId,
        members,
        units: seenBy(nodeId, before),
        activeAtMs,
        nowMs: 9000,
        patienceMs: 1000,
      });
      for (const { id } of take) {
        const unit = all.find((each) => each.id === id) as Unit;
        // Members with the same view never want the same unit.
        expect(unit.leader).toBeNull();
        unit.leader = nodeId;
        moves++;
        isQuiet = false;
      }
      for (const { id } of release) {
        (all.find((each) => each.id === id) as Unit).leader = null;
        isQuiet = false;
      }
    }
    if (isQuiet) return moves;
  }
  throw new Error("it never came to rest");
}

const loadOf = (all: readonly Unit[], nodeId: string) =>
  all.filter(({ leader }) => leader === nodeId).reduce((sum, { size }) => sum + size, 0);

describe("plan for spread roles", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => member(id)) as [
    RoleMember,
    RoleMember,
    RoleMember,
    RoleMember,
  ];

  test("three processes get equal numbers of a thousand roles, and each role moves once", () => {
    const all = units(1000);
    expect(settle(all, [a, b, c])).toBe(1000);
    expect([a, b, c].map(({ nodeId }) => loadOf(all, nodeId))).toEqual([334, 333, 333]);
  });

  test("a process that joins gets its share, and no other role moves", () => {
    const all = units(1000);
    settle(all, [a, b, c]);
    expect(settle(all, [a, b, c, d])).toBe(250);
    for (const { nodeId } of [a, b, c, d]) expect(loadOf(all, nodeId)).toBe(250);
  });

  test("the roles of a lost process are shared, and no other role moves", () => {
    const all = units(1000);
    settle(all, [a, b, c]);
    const lost = loadOf(all, "c");
    for (const unit of all) if (unit.leader === "c") unit.leader = null;
    expect(settle(all, [a, b])).toBe(lost);
    expect([loadOf(all, "a"), loadOf(all, "b")]).toEqual([500, 500]);
  });

  test("weights and maxRoles are respected", () => {
    const all = units(100);
    settle(all, [member("a", 2), member("b", 1), member("c", 1, 10)]);
    expect(["a", "b", "c"].map((each) => loadOf(all, each))).toEqual([60, 30, 10]);
  });

  test("a process that is not a member takes and releases no role", () => {
    const all = units(4);
    (all[0] as Unit).leader = "x";
    const { take, release } = plan({
      self: "x",
      members: [a],
      units: seenBy("x", all),
      activeAtMs,
      nowMs: 9000,
      patienceMs: 1000,
    });
    expect([take, release]).toEqual([[], []]);
  });

  test("a role that was not taken within patienceMs may be taken by any process with room", () => {
    const all = units(2);
    for (const { nodeId } of [a, b]) {
      const { take } = plan({
        self: nodeId,
        members: [a, b],
        units: seenBy(nodeId, all, 1000),
        activeAtMs,
        nowMs: 9000,
        patienceMs: 1000,
      });
      expect(take.map(({ id }) => id)).toEqual(["u0", "u1"]);
      expect(take.filter(({ isStray }) => isStray)).toHaveLength(1);
    }
    const full = plan({
      self: "a",
      members: [member("a", 1, 0), b],
      units: seenBy("a", all, 1000),
      activeAtMs,
      nowMs: 9000,
      patienceMs: 1000,
    });
    expect(full.take).toEqual([]);
  });

  test("a process that is still taking roles is waited for, however long it takes", () => {
    const all = units(2);
    const view = {
      nowMs: 9000,
      self: "a",
      members: [a, b],
      units: seenBy("a", all, 5000),
      activeAtMs: new Map([
        ["a", 0],
        ["b", 8900],
      ]),
      patienceMs: 1000,
    };
    const { take, againInMs } = plan(view);
    expect(take).toHaveLength(1);
    expect(againInMs).toBe(900);
  });

  test("the plan says when to look again for roles that were not taken", () => {
    const all = units(2);
    const { take, againInMs } = plan({
      self: "a",
      members: [a, b],
      units: seenBy("a", all, 300),
      activeAtMs,
      nowMs: 9000,
      patienceMs: 1000,
    });
    expect(take).toHaveLength(1);
    expect(againInMs).toBe(700);
  });

  test("roles of higher priority are taken first and released last", () => {
    const some = seenBy("a", units(4)).map((unit, index) => ({ ...unit, priority: index }));
    const few = plan({
      self: "a",
      members: [member("a", 1, 2)],
      units: some,
      activeAtMs,
      nowMs: 9000,
      patienceMs: 1000,
    });
    expect(few.take.map(({ priority }) => priority)).toEqual([3, 2]);
    const held = some.map((unit) => ({ ...unit, owner: "here" as const }));
    const { release } = plan({
      self: "a",
      members: [a, b],
      units: held,
      activeAtMs,
      nowMs: 9000,
      patienceMs: 1000,
    });
    expect(release.map(({ priority }) => priority)).toEqual([0, 1]);
  });

  test("from any state, with any members and unit sizes, the plan settles near the shares", () => {
    const world = fc.record({
      members: fc.uniqueArray(
        fc.record({
          nodeId: fc.constantFrom("a", "b", "c", "d", "e"),
          weight: fc.constantFrom(0.5, 1, 2),
          maxRoles: fc.oneof(fc.constant(1_000_000), fc.nat({ max: 30 })),
        }),
        { selector: ({ nodeId }) => nodeId, minLength: 1, maxLength: 5 },
      ),
      all: fc.array(
        fc.record({
          size: fc.constantFrom(1, 1, 1, 2, 3),
          leader: fc.constantFrom(null, "a", "b", "c", "gone"),
        }),
        { maxLength: 60 },
      ),
    });
    fc.assert(
      fc.property(world, ({ members, all }) => {
        const largest = Math.max(1, ...all.map(({ size }) => size));
        const bounds = new Map<string, number>(members.map(({ nodeId, maxRoles }) => [nodeId, maxRoles]));
        const held: Unit[] = [];
        for (const [index, { size, leader }] of all.entries()) {
          // No member has taken more than its maxRoles.
          const fits = leader !== null && loadOf(held, leader) + size <= (bounds.get(leader) ?? 0);
          held.push({ id: `u${index}`, size, leader: fits ? leader : null });
        }
        settle(held, members);
        const total = held.reduce((sum, { size }) => sum + size, 0);
        const share = shares(total, members);
        for (const { nodeId } of members) {
          expect(loadOf(held, nodeId)).toBeLessThan((share.get(nodeId) ?? 0) + largest);
        }
        const hasRoom = members.some(
          ({ nodeId, maxRoles }) =>
            loadOf(held, nodeId) + largest <= Math.min(maxRoles, share.get(nodeId) ?? 0),
        );
        if (hasRoom) expect(held.filter(({ leader }) => leader === null)).toEqual([]);
      }),
    );
  });
});
