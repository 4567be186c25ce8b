import { expect, test } from "vitest";
import { deadlineOf } from "./deadline.js";
import { systemClock } from "./system-clock.js";
import { VirtualClock } from "./testing/virtual-clock.js";

test("a deadline has passed until it is extended, and again when its time is over", async () => {
  const clock = new VirtualClock();
  const deadline = deadlineOf(clock);
  expect(deadline.isPending()).toBe(false);
  deadline.extend(10);
  await clock.advance(9);
  expect(deadline.isPending()).toBe(true);
  await clock.advance(1);
  expect(deadline.isPending()).toBe(false);
});

test("on the machine's clock, too, a deadline is extended from the last look", () => {
  const deadline = deadlineOf(systemClock);
  deadline.isPending();
  const lookedMs = systemClock.monotonicMs();
  while (systemClock.monotonicMs() < lookedMs + 5);
  deadline.extend(5);
  expect(deadline.isPending()).toBe(false);
});

test("a deadline is extended from the last look: the time in between is not added", async () => {
  const clock = new VirtualClock();
  const deadline = deadlineOf(clock);
  expect(deadline.isPending()).toBe(false);
  await clock.advance(20);
  deadline.extend(10);
  expect(deadline.isPending()).toBe(false);
});

test("a deadline that was ended has passed", () => {
  const deadline = deadlineOf(new VirtualClock());
  deadline.isPending();
  deadline.extend(10);
  deadline.end();
  expect(deadline.isPending()).toBe(false);
});

test("on the machine's clock a deadline passes neither before its time nor later than its clock says", () => {
  const deadline = deadlineOf(systemClock);
  expect(deadline.isPending()).toBe(false);
  const beforeMs = systemClock.monotonicMs();
  deadline.isPending();
  const afterMs = systemClock.monotonicMs();
  deadline.extend(5);
  for (;;) {
    const askedMs = systemClock.monotonicMs();
    const isPending = deadline.isPending();
    const answeredMs = systemClock.monotonicMs();
    if (answeredMs < beforeMs + 5) expect(isPending).toBe(true);
    if (askedMs > afterMs + 5) {
      expect(isPending).toBe(false);
      break;
    }
  }
  deadline.isPending();
  deadline.extend(60_000);
  expect(deadline.isPending()).toBe(true);
  deadline.end();
  expect(deadline.isPending()).toBe(false);
});
