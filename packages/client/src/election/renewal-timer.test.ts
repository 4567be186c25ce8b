import type { CancelTimer } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { expect, test } from "vitest";
import { RenewalTimer } from "./renewal-timer.js";

/** Counts its pending timers. */
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

test("all callers that wait for the next tick are woken at the same time, by one timer", async () => {
  const clock = new CountingClock();
  const timer = RenewalTimer.of(clock, 100);
  const heard: number[] = [];
  for (let i = 0; i < 10; i++) {
    void timer.next(never).then(() => heard.push(clock.monotonicMs() % 100));
    await clock.advance(7);
  }
  expect(clock.pending.size).toBe(1);
  expect(heard).toEqual([]);
  await clock.advance(100);
  expect(heard).toEqual(Array.from({ length: 10 }, () => 0));
  expect(clock.pending.size).toBe(0);
});

test("elections with the same interval share a timer, other intervals and other clocks have their own", () => {
  const clock = new VirtualClock();
  expect(RenewalTimer.of(clock, 100)).toBe(RenewalTimer.of(clock, 100));
  expect(RenewalTimer.of(clock, 200)).not.toBe(RenewalTimer.of(clock, 100));
  expect(RenewalTimer.of(new VirtualClock(), 100)).not.toBe(RenewalTimer.of(clock, 100));
});

test("a caller that leaves is not woken, the others are, and the timer is cancelled when the last one leaves", async () => {
  const clock = new CountingClock();
  const timer = RenewalTimer.of(clock, 100);
  const leaving = new AbortController();
  const reason = new Error("the leadership has ended");
  const left = timer.next(leaving.signal);
  const stayed = timer.next(never);
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  await expect(timer.next(leaving.signal)).rejects.toBe(reason);
  await clock.advance(100);
  await stayed;
  const last = new AbortController();
  const alone = timer.next(last.signal);
  expect(clock.pending.size).toBe(1);
  last.abort(reason);
  await expect(alone).rejects.toBe(reason);
  expect(clock.pending.size).toBe(0);
});
