import { expect, test } from "vitest";
import { Heads } from "./heads.js";

test("a name is used again once its barrier is over, and never by two at a time", () => {
  const heads = new Heads();
  const [one, other] = [heads.take(), heads.take()];
  expect(other).not.toBe(one);
  heads.giveBack(one);
  expect(heads.take()).toBe(one);
  const more = Array.from({ length: 500 }, () => heads.take());
  expect(new Set([one, other, ...more]).size).toBe(502);
});

test("a name that another writes to is given up, be it in use or not", () => {
  const heads = new Heads();
  const [used, free] = [heads.take(), heads.take()];
  heads.giveBack(free);
  heads.see(used, heads.owner);
  heads.see(free, "another");
  const next = heads.take();
  expect(next).not.toBe(free);
  heads.see(used, "another");
  heads.giveBack(used);
  heads.giveBack(next);
  expect(heads.take()).toBe(next);
});
