import { expect, test } from "vitest";
import { momentOf } from "./moment.js";
import { systemClock } from "./system-clock.js";
import { VirtualClock } from "./testing/virtual-clock.js";

test("a moment has come until it is put off, and again when its time has passed", async () => {
  const clock = new VirtualClock();
  const moment = momentOf(clock);
  expect(moment.isAhead()).toBe(false);
  moment.putOff(10);
  await clock.advance(9);
  expect(moment.isAhead()).toBe(true);
  await clock.advance(1);
  expect(moment.isAhead()).toBe(false);
});

test("on the machine's clock too a moment is put off from the last look", () => {
  const moment = momentOf(systemClock);
  moment.isAhead();
  const lookedMs = systemClock.monotonicMs();
  while (systemClock.monotonicMs() < lookedMs + 5);
  moment.putOff(5);
  expect(moment.isAhead()).toBe(false);
});

test("a moment is put off from the last look: what passes in between is not given away", async () => {
  const clock = new VirtualClock();
  const moment = momentOf(clock);
  expect(moment.isAhead()).toBe(false);
  await clock.advance(20);
  moment.putOff(10);
  expect(moment.isAhead()).toBe(false);
});

test("a moment that has ended has come", () => {
  const moment = momentOf(new VirtualClock());
  moment.isAhead();
  moment.putOff(10);
  moment.end();
  expect(moment.isAhead()).toBe(false);
});

test("on the machine's clock a moment comes neither before its time nor later than its clock says", () => {
  const moment = momentOf(systemClock);
  expect(moment.isAhead()).toBe(false);
  const beforeMs = systemClock.monotonicMs();
  moment.isAhead();
  const afterMs = systemClock.monotonicMs();
  moment.putOff(5);
  for (;;) {
    const askedMs = systemClock.monotonicMs();
    const isAhead = moment.isAhead();
    const answeredMs = systemClock.monotonicMs();
    if (answeredMs < beforeMs + 5) expect(isAhead).toBe(true);
    if (askedMs > afterMs + 5) {
      expect(isAhead).toBe(false);
      break;
    }
  }
  moment.isAhead();
  moment.putOff(60_000);
  expect(moment.isAhead()).toBe(true);
  moment.end();
  expect(moment.isAhead()).toBe(false);
});
