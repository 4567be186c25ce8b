import { expect, test } from "vitest";
import { Trail } from "./trail.js";

test("tells the last sixteen of a subject, the latest first, and none of another", () => {
  const trail = new Trail();
  for (let revision = 1; revision <= 20; revision++) trail.add(revision % 2 === 0 ? "a" : "b", revision);
  for (let revision = 21; revision <= 40; revision++) trail.add("a", revision);
  expect(trail.of("a")).toEqual([40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25]);
  expect(trail.of("b")).toEqual([19, 17, 15, 13, 11, 9, 7, 5, 3, 1]);
  trail.clear();
  expect([trail.of("a"), trail.of("b")]).toEqual([[], []]);
});

test("forgets what lies far back, and subjects that were not written to for long", () => {
  const trail = new Trail();
  trail.add("a", 1);
  trail.add("b", 5000);
  expect([trail.of("a"), trail.of("b")]).toEqual([[], [5000]]);
  for (let i = 0; i < 1024; i++) trail.add(`other-${i}`, 5001 + i);
  expect(trail.of("b")).toEqual([]);
});
