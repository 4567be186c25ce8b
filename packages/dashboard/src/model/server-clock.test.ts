import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ServerClock } from "./server-clock.js";

test("answers in whole seconds narrow the clock offset, and never exclude the true one", () => {
  const offsets = fc.integer({ min: -3_600_000, max: 3_600_000 });
  const answers = fc.array(fc.record({ atMs: fc.nat(100_000), wayMs: fc.nat(80), backMs: fc.nat(80) }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(offsets, answers, (offsetMs, given) => {
      const clock = new ServerClock();
      for (const { atMs, wayMs, backMs } of given) {
        const sentAtMs = atMs + wayMs + offsetMs;
        clock.observe(Math.floor(sentAtMs / 1000) * 1000, atMs, atMs + wayMs + backMs);
      }
      expect(Math.abs(clock.at(0) - offsetMs)).toBeLessThanOrEqual(clock.marginMs);
      expect(clock.marginMs).toBeLessThanOrEqual(580);
    }),
  );
});

test("a server clock that was set is followed from then on", () => {
  const clock = new ServerClock();
  clock.observe(10_000, 10_100, 10_110);
  clock.observe(90_000, 11_100, 11_110);
  expect(Math.abs(clock.at(11_110) - 90_500)).toBeLessThan(600);
});

test("the server clock is the page's own before any answer", () => {
  expect(new ServerClock().at(123)).toBe(123);
});
