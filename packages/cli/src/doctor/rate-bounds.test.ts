import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeRate } from "./clock-checks.js";
import { RateBounds } from "./rate-bounds.js";

function bounds(rate: number, delays: readonly (readonly [number, number])[], everyMs = 50): RateBounds {
  const found = new RateBounds();
  let nowMs = 1000;
  for (const [there, back] of delays) {
    const readMs = nowMs + there;
    found.take({ sentMs: nowMs, answeredMs: readMs + back, serverMs: Math.round(5e11 + readMs * rate) });
    nowMs = readMs + back + everyMs;
  }
  return found;
}

const delay = (mostMs: number) =>
  fc.tuple(fc.integer({ min: 0, max: mostMs }), fc.integer({ min: 0, max: mostMs }));

it("the true clock rate lies within the bounds, however late the answers come", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.5, max: 2, noNaN: true }),
      fc.array(delay(3000), { minLength: 2, maxLength: 40 }),
      (rate, delays) => {
        const { least, most } = bounds(rate, delays);
        expect(least).toBeLessThanOrEqual(rate);
        expect(most).toBeGreaterThanOrEqual(rate);
      },
    ),
  );
});

describe("the rate of a server's clock", () => {
  const quick = Array.from({ length: 60 }, () => [2, 2] as const);

  it.each([
    [1, "ok"],
    [1.01, "ok"],
    [0.99, "ok"],
    [1.05, "wrong"],
    [0.95, "wrong"],
  ])("a server's clock at a rate of %d relative to ours is %s", (rate, level) => {
    expect(judgeRate("clock", bounds(rate, quick)).level).toBe(level);
  });

  it("a server's clock whose rate is known only roughly is a note, not a problem", () => {
    const slow = Array.from({ length: 3 }, () => [500, 500] as const);
    expect(judgeRate("clock", bounds(1.05, slow))).toMatchObject({ level: "note" });
  });
});
