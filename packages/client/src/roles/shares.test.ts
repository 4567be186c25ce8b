import * as fc from "fast-check";
import { expect, test } from "vitest";
import { shares } from "./shares.js";
import type { RoleMember } from "./state.js";

const member = (nodeId: string, weight = 1, maxRoles = 1_000_000): RoleMember => ({
  nodeId,
  weight,
  maxRoles,
});

test("a thousand roles are shared evenly by three processes", () => {
  const share = shares(1000, [member("a"), member("b"), member("c")]);
  expect([...share.values()].toSorted((one, other) => one - other)).toEqual([333, 333, 334]);
});

test("weights are respected, and roles beyond one member's maxRoles go to the others", () => {
  expect(shares(100, [member("a", 3), member("b", 1)])).toEqual(
    new Map([
      ["a", 75],
      ["b", 25],
    ]),
  );
  const capped = shares(100, [member("a", 1, 10), member("b"), member("c", 2)]);
  expect(capped).toEqual(
    new Map([
      ["a", 10],
      ["b", 30],
      ["c", 60],
    ]),
  );
  expect(shares(100, [member("a", 1, 10), member("b", 1, 20)])).toEqual(
    new Map([
      ["a", 10],
      ["b", 20],
    ]),
  );
});

const members = fc.uniqueArray(
  fc.record({
    nodeId: fc.string({ minLength: 1, maxLength: 3 }),
    weight: fc.constantFrom(0.5, 1, 1, 2, 3),
    maxRoles: fc.oneof(fc.constant(1_000_000), fc.nat({ max: 60 })),
  }),
  { selector: ({ nodeId }) => nodeId, minLength: 1, maxLength: 8 },
);

test("shares use all capacity, exceed no maxRoles, and do not depend on the order of the members", () => {
  fc.assert(
    fc.property(fc.nat({ max: 300 }), members, (total, all) => {
      const share = shares(total, all);
      const given = [...share.values()].reduce((sum, each) => sum + each, 0);
      const takes = all.reduce((sum, { maxRoles }) => sum + maxRoles, 0);
      expect(given).toBe(Math.min(total, takes));
      for (const { nodeId, maxRoles } of all) expect(share.get(nodeId)).toBeLessThanOrEqual(maxRoles);
      expect(Object.fromEntries(shares(total, all.toReversed()))).toEqual(Object.fromEntries(share));
    }),
  );
});

test("the shares of members without a bound differ by at most one role per weight", () => {
  fc.assert(
    fc.property(fc.nat({ max: 300 }), members, (total, all) => {
      const share = shares(total, all);
      const open = all.filter(({ maxRoles }) => maxRoles === 1_000_000);
      for (const one of open) {
        for (const other of open) {
          const perWeight = (each: RoleMember) => (share.get(each.nodeId) ?? 0) / each.weight;
          const slack = 1 / one.weight + 1 / other.weight;
          expect(Math.abs(perWeight(one) - perWeight(other))).toBeLessThan(slack + 1e-9);
        }
      }
    }),
  );
});
