import * as fc from "fast-check";
import { expect, it } from "vitest";
import { ClockOffset } from "./clock-offset.js";

function answer(
  sentAtMs: number,
  answeredAtMs: number,
  servedAtMs: number,
): Parameters<ClockOffset["take"]>[0] {
  const date = new Date(Math.floor(servedAtMs / 1000) * 1000).toUTCString();
  return { headers: { date }, sentAtMs, answeredAtMs };
}

it("the clock offset from all answers always contains the true offset, and comes close to it", () => {
  const start = Date.UTC(2026, 0, 1);
  fc.assert(
    fc.property(
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 40 })), {
        minLength: 30,
        maxLength: 30,
      }),
      (offsetMs, delays) => {
        const offset = new ClockOffset();
        for (const [index, [there, back]] of delays.entries()) {
          const sentAtMs = start + index * 137;
          offset.take(answer(sentAtMs, sentAtMs + there + back, sentAtMs + there + offsetMs));
        }
        expect(Math.abs((offset.offsetMs ?? 0) - offsetMs)).toBeLessThanOrEqual(offset.errorMs + 1);
        expect(offset.errorMs).toBeLessThan(200);
      },
    ),
  );
});

it("a server clock that was set meanwhile is followed", () => {
  const offset = new ClockOffset();
  const start = Date.UTC(2026, 0, 1);
  offset.take(answer(start, start + 2, start));
  offset.take(answer(start + 100, start + 102, start + 3_600_100));
  expect(offset.offsetMs).toBeGreaterThan(3_599_000);
});

it("the clock offset is unknown for a server that does not send its time", () => {
  const offset = new ClockOffset();
  offset.take({ headers: {}, sentAtMs: 1, answeredAtMs: 2 });
  expect(offset.offsetMs).toBeNull();
});
