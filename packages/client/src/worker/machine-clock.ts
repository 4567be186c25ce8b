import { type Clock, systemClock } from "@tenure/core";

/** Like `systemClock`, but its monotonic time has the same origin in all threads of the machine. */
export const machineClock: Clock = { ...systemClock, monotonicMs: machineMs };

/** The offset from a thread's own monotonic time to the machine's: it lies between the two. */
export interface ClockOffset {
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

const SAMPLES = 8;

/** The closest of several readings of both clocks: the thread may be paused between two of them. */
export function offsetOf(clock: Clock, machine: Clock = machineClock): ClockOffset {
  let closest: ClockOffset = { atLeastMs: Number.NEGATIVE_INFINITY, atMostMs: Number.POSITIVE_INFINITY };
  for (let i = 0; i < SAMPLES; i++) {
    const beforeMs = clock.monotonicMs();
    const thereMs = machine.monotonicMs();
    const afterMs = clock.monotonicMs();
    const seen = { atLeastMs: thereMs - afterMs, atMostMs: thereMs - beforeMs };
    if (seen.atMostMs - seen.atLeastMs < closest.atMostMs - closest.atLeastMs) closest = seen;
  }
  return closest;
}

function machineMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
