import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TtlCensus } from "./ttl-census.js";

test("the shortest ttl in force is known after every change, as a list would tell it", () => {
  const ttl = fc.option(fc.constantFrom(500, 1000, 1500, 60_000), { nil: undefined });
  const moves = fc.array(fc.tuple(fc.nat(7), ttl), { maxLength: 200 });
  fc.assert(
    fc.property(moves, (changes) => {
      const census = new TtlCensus();
      const inForce = new Map<number, number | undefined>();
      for (const [group, toMs] of changes) {
        census.move(inForce.get(group), toMs);
        inForce.set(group, toMs);
        const ttls = [...inForce.values()].filter((each) => each !== undefined);
        expect(census.shortestMs).toBe(Math.min(Number.POSITIVE_INFINITY, ...ttls));
      }
    }),
  );
});

test("where no one leads there is no shortest ttl", () => {
  const census = new TtlCensus();
  expect(census.shortestMs).toBe(Number.POSITIVE_INFINITY);
  census.move(undefined, 1000);
  census.move(1000, undefined);
  expect(census.shortestMs).toBe(Number.POSITIVE_INFINITY);
});
