import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SortedIds } from "./sorted-ids.js";

const ID = fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom("a", "b", "A", "/", "-", "9") });

test("SortedIds lists ids in order from any position, like a sorted list, after any additions and deletions", () => {
  const acts = fc.array(fc.record({ id: ID, add: fc.boolean() }), { maxLength: 200 });
  fc.assert(
    fc.property(acts, ID, fc.boolean(), fc.nat(20), (all, place, inclusive, count) => {
      const ids = new SortedIds(4);
      const model = new Set<string>();
      for (const { id, add } of all) {
        if (add) ids.add(id);
        else ids.delete(id);
        if (add) model.add(id);
        else model.delete(id);
      }
      const sorted = [...model].sort((a, b) => (a < b ? -1 : 1));
      const expected = sorted.filter((id) => (inclusive ? id >= place : id > place)).slice(0, count);
      expect(ids.from(place, inclusive, count)).toEqual(expected);
      expect(ids.from("", true, 1000)).toEqual(sorted);
    }),
  );
});
