import type { CancelTimer } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { expect, test } from "vitest";
import { Pulse } from "./pulse.js";

/** Knows how many of its timers are still to fire. */
class CountingClock extends VirtualClock {
  readonly pending: Set<object> = new Set();

  override after(delayMs: number, callback: () => void): CancelTimer {
    const timer = {};
    this.pending.add(timer);
    const cancel = super.after(delayMs, () => {
      this.pending.delete(timer);
      callback();
    });
    return () => {
      this.pending.delete(timer);
      cancel();
    };
  }
}

const never = new AbortController().signal;

test("all that wait for the next beat hear it at the same moment, by one timer", async () => {
  const clock = new CountingClock();
  const pulse = Pulse.of(clock, 100);
  const heard: number[] = [];
  for (let i = 0; i < 10; i++) {
    void pulse.next(never).then(() => heard.push(clock.monotonicMs() % 100));
    await clock.advance(7);
  }
  expect(clock.pending.size).toBe(1);
  expect(heard).toEqual([]);
  await clock.advance(100);
  expect(heard).toEqual(Array.from({ length: 10 }, () => 0));
  expect(clock.pending.size).toBe(0);
});

test("elections with the same interval share a pulse, others do not, and no clock has another's", () => {
  const clock = new VirtualClock();
  expect(Pulse.of(clock, 100)).toBe(Pulse.of(clock, 100));
  expect(Pulse.of(clock, 200)).not.toBe(Pulse.of(clock, 100));
  expect(Pulse.of(new VirtualClock(), 100)).not.toBe(Pulse.of(clock, 100));
});

test("who leaves does not hear it, takes nobody with it, and the last one takes the timer along", async () => {
  const clock = new CountingClock();
  const pulse = Pulse.of(clock, 100);
  const leaving = new AbortController();
  const reason = new Error("the leadership has ended");
  const left = pulse.next(leaving.signal);
  const stayed = pulse.next(never);
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  await expect(pulse.next(leaving.signal)).rejects.toBe(reason);
  await clock.advance(100);
  await stayed;
  const last = new AbortController();
  const alone = pulse.next(last.signal);
  expect(clock.pending.size).toBe(1);
  last.abort(reason);
  await expect(alone).rejects.toBe(reason);
  expect(clock.pending.size).toBe(0);
});
