import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { LeadershipEvent } from "../event.js";
import { EventLog } from "./event-log.js";

function event(number: number): LeadershipEvent {
  return {
    number,
    type: "LEADER_CHANGED",
    term: number,
    leaderNodeId: "a",
    previousLeaderNodeId: null,
    reason: "none",
    tsMs: 0,
  };
}

test("whoever goes on from a place gets what came after it, once and in order", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 50 }), (sizes) => {
      const log = new EventLog();
      log.restart(10);
      const start = log.last;
      const all: number[] = [];
      sizes.forEach((size, index) => {
        const events = Array.from({ length: size }, (_, each) => event(all.length + 1 + each));
        all.push(...events.map(({ number }) => number));
        log.append("g", events, 11 + index);
      });
      const logged = log.after(start) ?? [];
      expect(logged.map((each) => each.event.number)).toEqual(all);
      logged.forEach((each, index) => {
        expect(log.after(each.place)?.map(({ place }) => place)).toEqual(
          logged.slice(index + 1).map(({ place }) => place),
        );
      });
    }),
  );
});

test("groups written in one batch under one revision have places of their own", () => {
  const log = new EventLog();
  log.restart(10);
  const start = log.last;
  log.append("one", [event(1), event(2)], 11);
  log.append("two", [event(1)], 11);
  log.append("one", [event(3)], 12);
  const logged = log.after(start) ?? [];
  expect(logged.map(({ groupId }) => groupId)).toEqual(["one", "one", "two", "one"]);
  expect(new Set(logged.map(({ place }) => place)).size).toBe(4);
  expect(log.after(logged[1]?.place ?? 0)).toHaveLength(2);
});

test("nobody can go on from before a break, nor from ahead of all that is known", () => {
  const log = new EventLog();
  log.restart(10);
  const start = log.last;
  log.append("g", [event(1)], 12);
  expect(log.after(start - 1)).toBeNull();
  expect(log.after(start)).toHaveLength(1);
  expect(log.after(log.last + 1)).toBeNull();
  log.restart(20);
  expect(log.after(start)).toBeNull();
  expect(log.after(log.last)).toEqual([]);
});

test("it forgets the oldest and says so", () => {
  const log = new EventLog();
  log.restart(0);
  const start = log.last;
  let late = 0;
  for (let revision = 1; revision <= 40_000; revision++) {
    log.append("g", [event(revision)], revision);
    if (revision === 39_990) late = log.last;
  }
  expect(log.after(start)).toBeNull();
  expect(log.after(late)).toHaveLength(10);
});

test("places are safe integers whatever the revision, and tell events apart", () => {
  for (const revision of [1, 2 ** 44 - 2, 2 ** 44 + 7, 4097 * 2 ** 32 + 1, Number.MAX_SAFE_INTEGER - 1]) {
    const log = new EventLog();
    log.restart(revision);
    const start = log.last;
    log.append("one", [event(1), event(2)], revision + 1);
    log.append("two", [event(1)], revision + 1);
    const places = log.after(start)?.map(({ place }) => place) ?? [];
    expect(places.every((place) => Number.isSafeInteger(place))).toBe(true);
    expect(new Set(places).size).toBe(3);
    expect(log.after(places[1] ?? 0)?.map(({ groupId }) => groupId)).toEqual(["two"]);
  }
});

test("where places begin anew nobody can go on from before, and everybody from after", () => {
  const log = new EventLog();
  const round = 2 ** 44;
  log.restart(round - 2);
  log.append("g", [event(1)], round - 1);
  const before = log.last;
  log.append("g", [event(2)], round + 1);
  expect(log.after(before)).toBeNull();
  const start = log.last;
  log.append("g", [event(3)], round + 2);
  expect(log.after(start)?.map((each) => each.event.number)).toEqual([3]);
});
