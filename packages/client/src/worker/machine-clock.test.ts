import { type Clock, systemClock } from "@tenure/core";
import { describe, expect, test } from "vitest";
import { machineClock, offsetOf } from "./machine-clock.js";

/** A clock whose readings are the given times, one after the other. */
function looks(...timesMs: readonly number[]): Clock {
  let next = 0;
  return { ...systemClock, monotonicMs: () => timesMs[next++ % timesMs.length] ?? Number.NaN };
}

describe("machineClock", () => {
  test("the measured clock offset has both bounds, which a delay between two reads does not widen", () => {
    // The true offset is 1000. The machine's clock is read 1 before the second read of the thread; once 50 had passed.
    const own = looks(10, 60, 70, 72, 80, 130, 140, 190);
    const machine = looks(1059, 1071, 1129, 1189);
    expect(offsetOf(own, machine)).toEqual({ atLeastMs: 999, atMostMs: 1001 });
  });

  test("the machine clock runs like the thread's own clock", () => {
    const { atLeastMs, atMostMs } = offsetOf(systemClock);
    expect(atMostMs).toBeGreaterThanOrEqual(atLeastMs);
    expect(atMostMs - atLeastMs).toBeLessThan(1);
    const beforeMs = machineClock.monotonicMs();
    const nowMs = systemClock.monotonicMs();
    const afterMs = machineClock.monotonicMs();
    // The rounding of each number.
    expect(nowMs + atMostMs).toBeGreaterThanOrEqual(beforeMs - 1e-3);
    expect(nowMs + atLeastMs).toBeLessThanOrEqual(afterMs + 1e-3);
  });
});
