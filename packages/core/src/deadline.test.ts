import { expect, test } from "vitest";
import { deadlineOf } from "./deadline.js";
import { systemClock } from "./system-clock.js";
import { VirtualClock } from "./testing/virtual-clock.js";

test("a new deadline has passed, an extended one is pending until its time is over", async () => {
  const clock = new VirtualClock();
  const deadline = deadlineOf(clock);
  expect(deadline.isPending()).toBe(false);
  deadline.extend(10);
  await clock.advance(9);
  expect(deadline.isPending()).toBe(true);
  await clock.advance(1);
  expect(deadline.isPending()).toBe(false);
});

test("a deadline on the system clock is extended from the last look", () => {
  const deadline = deadlineOf(systemClock);
  deadline.isPending();
  const lookedMs = systemClock.monotonicMs();
  while (systemClock.monotonicMs() < lookedMs + 5);
  deadline.extend(5);
  expect(deadline.isPending()).toBe(false);
});

test("a deadline is extended from the last look, without the time between the look and the extension", async () => {
  const clock = new VirtualClock();
  const deadline = deadlineOf(clock);
  expect(deadline.isPending()).toBe(false);
  await clock.advance(20);
  deadline.extend(10);
  expect(deadline.isPending()).toBe(false);
});

test("a deadline that was ended counts as passed", () => {
  const deadline = deadlineOf(new VirtualClock());
  deadline.isPending();
  deadline.extend(10);
  deadline.end();
  expect(deadline.isPending()).toBe(false);
});

test("a deadline on the system clock passes neither early nor late", () => {
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
