import { expect, test } from "vitest";
import type { LeadershipEvent } from "../event.js";
import { EMPTY_RECORD, type ElectionRecord } from "../record.js";
import { EventLog, type LoggedGroup, partCursor, wholeCursor } from "./event-log.js";

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

/** A record with its last four events. */
function record(eventNumber: number): ElectionRecord {
  const first = Math.max(1, eventNumber - 3);
  const events = Array.from({ length: eventNumber - first + 1 }, (_, i) => event(first + i));
  return { ...EMPTY_RECORD, eventNumber, events };
}

function group(groupId: string): LoggedGroup {
  return { groupId, loggedNumber: 0, loggedRevision: 0 };
}

function begun(revision: number): { log: EventLog; woken: () => number } {
  let count = 0;
  const log = new EventLog((listeners) => {
    for (const wake of listeners) wake();
  });
  log.listen(() => count++);
  log.reach(revision);
  return { log, woken: () => count };
}

/** What a reader gets that resumes from `cursor`: event numbers, or `state` for a group shown by its state. */
function after(log: EventLog, cursor: number): unknown {
  const resumption = log.seek(cursor);
  if (resumption === null) return null;
  const entries = [...resumption.first, ...(log.read(resumption.position) ?? [])];
  return entries.map(({ groupId, events }) => [
    groupId,
    events === null ? "state" : events.map(({ number }) => number),
  ]);
}

test("a reader that resumes between two ranges gets all later events, once and in order", () => {
  const { log, woken } = begun(10);
  const [one, two] = [group("one"), group("two")];
  log.take(one, record(2), 11);
  log.take(two, record(1), 11);
  log.reach(11);
  log.take(one, record(3), 12);
  log.reach(12);
  expect(after(log, wholeCursor(10))).toEqual([
    ["one", [1, 2]],
    ["two", [1]],
    ["one", [3]],
  ]);
  expect(after(log, wholeCursor(11))).toEqual([["one", [3]]]);
  expect([after(log, wholeCursor(12)), log.cursor]).toEqual([[], wholeCursor(12)]);
  expect(woken()).toBe(3);
});

test("a reader that resumes within a range gets the state of each group changed since the range began", () => {
  const { log } = begun(10);
  const [one, two] = [group("one"), group("two")];
  log.take(one, record(1), 11);
  log.take(two, record(1), 12);
  log.reach(12);
  log.take(one, record(2), 13);
  log.reach(13);
  expect(after(log, partCursor(10))).toEqual([
    ["one", "state"],
    ["two", "state"],
  ]);
  expect(after(log, partCursor(12))).toEqual([["one", "state"]]);
  expect(log.seek(partCursor(12))?.position).toBe(log.end);
});

test("an event is not published before the feed has delivered everything up to its revision", () => {
  const { log, woken } = begun(10);
  const [one, two] = [group("one"), group("two")];
  // The value of revision 12 was left out, so the feed says 11 although it has delivered 13.
  log.take(one, record(1), 13);
  log.reach(11);
  expect([after(log, wholeCursor(10)), log.cursor, woken()]).toEqual([[], wholeCursor(10), 1]);
  log.take(two, record(2), 14);
  log.reach(14);
  expect(after(log, wholeCursor(10))).toEqual([
    ["one", [1]],
    ["two", [1, 2]],
  ]);
});

test("a reader with another server's cursor gets the events that are surely new, and states for the rest", () => {
  const { log } = begun(10);
  const groups = ["seen", "unclear", "unseen", "late"].map(group) as [
    LoggedGroup,
    LoggedGroup,
    LoggedGroup,
    LoggedGroup,
  ];
  const [seen, unclear, unseen, late] = groups;
  log.take(seen, record(1), 12);
  // Renewed at 15, so the event first seen at 17 was written after 15.
  log.take(unseen, record(0), 15);
  log.take(unclear, record(1), 16);
  log.take(unseen, record(1), 17);
  log.reach(17);
  log.take(late, record(1), 18);
  log.reach(18);
  expect(after(log, wholeCursor(14))).toEqual([
    ["unclear", "state"],
    ["unseen", [1]],
    ["late", [1]],
  ]);
});

test("a group with missing events or an unreadable record is shown by its state", () => {
  const { log } = begun(10);
  const [one, two] = [group("one"), group("two")];
  log.take(one, record(9), 11);
  log.take(two, null, 12);
  log.reach(12);
  log.take(two, record(1), 13);
  log.reach(13);
  expect(after(log, wholeCursor(10))).toEqual([
    ["one", "state"],
    ["two", "state"],
  ]);
});

test("an entry that a snapshot repeats is not logged again", () => {
  const { log, woken } = begun(10);
  const one = group("one");
  log.take(one, record(1), 11);
  log.reach(11);
  log.take(one, record(1), 11);
  log.reach(11);
  expect([after(log, wholeCursor(10)), woken()]).toEqual([[["one", [1]]], 2]);
});

test("a cursor from before the start of the log or ahead of it cannot be resumed", () => {
  const { log } = begun(10);
  log.take(group("g"), record(1), 12);
  log.reach(12);
  expect(after(log, wholeCursor(9))).toBeNull();
  expect(after(log, 0)).toBeNull();
  expect(after(log, wholeCursor(13))).toBeNull();
  expect(after(new EventLog(() => {}), 0)).toBeNull();
});

test("an event log drops its oldest events, and a cursor before them cannot be resumed", () => {
  const { log } = begun(1);
  const one = group("one");
  const start = log.end;
  for (let revision = 2; revision <= 40_001; revision++) {
    log.take(one, record(revision - 1), revision);
    log.reach(revision);
  }
  expect([after(log, wholeCursor(1)), log.read(start)]).toEqual([null, null]);
  expect(after(log, wholeCursor(39_991))).toHaveLength(10);
});

test("cursors are safe integers whatever the revision", () => {
  for (const revision of [1, 2 ** 51 - 3, 4097 * 2 ** 32 + 1, Number.MAX_SAFE_INTEGER - 2]) {
    const { log } = begun(revision);
    log.take(group("g"), record(1), revision + 1);
    log.reach(revision + 1);
    expect(Number.isSafeInteger(log.cursor)).toBe(true);
    expect(after(log, wholeCursor(revision))).toEqual([["g", [1]]]);
  }
});

test("when cursors wrap around, older cursors cannot be resumed and newer ones can", () => {
  const { log } = begun(2 ** 51 - 2);
  const one = group("one");
  const before = log.end;
  log.take(one, record(1), 2 ** 51 + 1);
  log.reach(2 ** 51 + 1);
  expect([after(log, wholeCursor(2 ** 51 - 2)), log.read(before)]).toEqual([null, null]);
  log.take(one, record(2), 2 ** 51 + 2);
  log.reach(2 ** 51 + 2);
  expect(after(log, wholeCursor(2 ** 51 + 1))).toEqual([["one", [2]]]);
});
