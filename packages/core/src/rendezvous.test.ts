import { expect, test } from "vitest";
import { rendezvous, rendezvousScore } from "./rendezvous.js";

const keys = Array.from({ length: 4000 }, (_, index) => `poll-${index}`);

test("rendezvous spreads keys evenly, and only those of a member that goes move", () => {
  const members = ["a", "b", "c", "d"];
  const before = keys.map((key) => rendezvous(key, members));
  for (const member of members) {
    const share = before.filter((each) => each === member).length;
    expect(share).toBeGreaterThan(850);
    expect(share).toBeLessThan(1150);
  }
  const after = keys.map((key) => rendezvous(key, ["d", "c", "a"]));
  expect(keys.filter((_, index) => before[index] !== "b" && before[index] !== after[index])).toEqual([]);
  expect(rendezvous("x", [])).toBe(null);
});

test("a member of three times the weight takes three times as many keys", () => {
  const heavy = keys.filter((key) => rendezvousScore(key, "a", 3) > rendezvousScore(key, "b", 1));
  expect(heavy.length).toBeGreaterThan(2850);
  expect(heavy.length).toBeLessThan(3150);
});
