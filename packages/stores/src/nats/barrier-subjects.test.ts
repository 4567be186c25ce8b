import { expect, test } from "vitest";
import { BarrierSubjects } from "./barrier-subjects.js";

test("a barrier subject is reused once its barrier is over, and never by two barriers at a time", () => {
  const subjects = new BarrierSubjects();
  const [one, other] = [subjects.take(), subjects.take()];
  expect(other).not.toBe(one);
  subjects.giveBack(one);
  expect(subjects.take()).toBe(one);
  const more = Array.from({ length: 500 }, () => subjects.take());
  expect(new Set([one, other, ...more]).size).toBe(502);
});

test("a barrier subject that another store writes to is abandoned, whether it is in use or not", () => {
  const subjects = new BarrierSubjects();
  const [used, free] = [subjects.take(), subjects.take()];
  subjects.giveBack(free);
  subjects.see(used, subjects.owner);
  subjects.see(free, "another");
  const next = subjects.take();
  expect(next).not.toBe(free);
  subjects.see(used, "another");
  subjects.giveBack(used);
  subjects.giveBack(next);
  expect(subjects.take()).toBe(next);
});
