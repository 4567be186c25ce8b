import { expect, test } from "vitest";
import { AcknowledgedRevisions } from "./acknowledged-revisions.js";

test("the last sixteen revisions of a subject are kept, latest first, and none of another subject", () => {
  const acknowledged = new AcknowledgedRevisions();
  for (let revision = 1; revision <= 20; revision++)
    acknowledged.add(revision % 2 === 0 ? "a" : "b", revision);
  for (let revision = 21; revision <= 40; revision++) acknowledged.add("a", revision);
  expect(acknowledged.of("a")).toEqual([40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25]);
  expect(acknowledged.of("b")).toEqual([19, 17, 15, 13, 11, 9, 7, 5, 3, 1]);
  acknowledged.clear();
  expect([acknowledged.of("a"), acknowledged.of("b")]).toEqual([[], []]);
});

test("revisions that lie far back are dropped, and so are subjects without recent writes", () => {
  const acknowledged = new AcknowledgedRevisions();
  acknowledged.add("a", 1);
  acknowledged.add("b", 5000);
  expect([acknowledged.of("a"), acknowledged.of("b")]).toEqual([[], [5000]]);
  for (let i = 0; i < 1024; i++) acknowledged.add(`other-${i}`, 5001 + i);
  expect(acknowledged.of("b")).toEqual([]);
});
