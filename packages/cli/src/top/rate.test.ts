import type { LeadershipEvent } from "@tenure/core";
import { expect, it } from "vitest";
import { changesPerHour, isFlapping, KEPT_EVENTS } from "./rate.js";

const NOW_MS = 10_000_000;

/** Terms that each end by an expired lease, one every `everyMs`, the last one now. */
function terms(count: number, everyMs: number): LeadershipEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const term = index + 1;
    const tsMs = NOW_MS - (count - term) * everyMs;
    const common = { term, tsMs, previousLeaderNodeId: "a" };
    return [
      {
        ...common,
        number: 2 * index + 1,
        type: "LEADER_LOST" as const,
        leaderNodeId: null,
        reason: "expired" as const,
      },
      {
        ...common,
        number: 2 * index + 2,
        type: "LEADER_CHANGED" as const,
        leaderNodeId: "a",
        reason: "expired" as const,
      },
    ];
  })
    .flat()
    .slice(-KEPT_EVENTS);
}

it("changes are a rate over the time that the kept events span, if that is less than an hour", () => {
  // A group that changes hands every 2.2 s: 1,636 an hour, not the 32 that are kept.
  const rate = changesPerHour(terms(100, 2200), NOW_MS);
  expect(rate).toBeGreaterThan(1600);
  expect(rate).toBeLessThan(1750);
});

it("changes are counted if the history reaches back an hour, or is not full", () => {
  expect(changesPerHour(terms(3, 1000), NOW_MS)).toBe(3);
  expect(changesPerHour(terms(100, 360_000), NOW_MS)).toBe(10);
  expect(changesPerHour([], NOW_MS)).toBe(0);
});

it("a group flaps if its leases expire more often than 6 times an hour, as in the attention list", () => {
  expect(isFlapping(terms(6, 1000), NOW_MS)).toBe(false);
  expect(isFlapping(terms(7, 1000), NOW_MS)).toBe(true);
  expect(isFlapping(terms(100, 2200), NOW_MS)).toBe(true);
  const asked = terms(100, 2200).map((event) => ({ ...event, by: "jane" }));
  expect(isFlapping(asked, NOW_MS)).toBe(false);
});
