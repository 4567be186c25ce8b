import { expect, test } from "vitest";
import type { OperatorAct } from "../operator-act.js";
import { ActLog, actCursor, isActCursor, isNewer, parseActCursor } from "./act-log.js";

function act(number: number, tsMs: number): OperatorAct {
  return { number, act: "pause", by: "jane", reason: null, tsMs, term: 1 };
}

const listed = (log: ActLog) => [...log.newest()].map(({ groupId, number }) => `${groupId}${number}`);

test("acts are listed by time, newest first, whatever the order in which they were seen", () => {
  const log = new ActLog();
  log.add("b", act(2, 30));
  log.add("a", act(1, 10));
  log.add("b", act(1, 20));
  log.add("a", act(2, 30));
  expect(listed(log)).toEqual(["b2", "a2", "b1", "a1"]);
});

test("an act that was seen in the record and in the history is listed once", () => {
  const log = new ActLog();
  for (let time = 0; time < 2; time++) for (const number of [1, 2, 3]) log.add("g", act(number, 10));
  expect(listed(log)).toEqual(["g3", "g2", "g1"]);
});

test("the log keeps the newest 1,000 acts, also where an older one is seen later", () => {
  const log = new ActLog();
  for (let number = 1; number <= 1005; number++) log.add("g", act(number, 100 + number));
  log.add("late", act(1, 5));
  const all = listed(log);
  expect([all.length, all[0], all.at(-1)]).toEqual([1000, "g1005", "g6"]);
});

test("a cursor names the place of an act, also in a group whose id looks like a cursor", () => {
  const place = { tsMs: 1_700_000_000_000, number: 12, groupId: "7-8-x/y" };
  const cursor = actCursor(place);
  expect(isActCursor(cursor)).toBe(true);
  expect(parseActCursor(cursor)).toEqual(place);
  expect(isNewer(place, parseActCursor(cursor))).toBe(false);
  expect(["", "x", "1-2-", "-1-2-g"].map(isActCursor)).toEqual([false, false, false, false]);
});
