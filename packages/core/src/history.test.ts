import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LeadershipEvent } from "./event.js";
import { EVENTS_IN_HISTORY, eventsAfter, losesEvents, mergeEvents } from "./history.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "./record.js";
import { decideDelete } from "./rules/configure.js";
import { beginTerm, endTerm } from "./rules/terms.js";

const ORDER = { by: "operator", reason: null, tsMs: 1 };
const runs = (least: number) => ({ numRuns: Math.max(least, fc.readConfigureGlobal().numRuns ?? 0) });

function event(number: number): LeadershipEvent {
  return {
    number,
    type: "LEADER_CHANGED",
    term: number,
    leaderNodeId: "a",
    previousLeaderNodeId: null,
    reason: "none",
    tsMs: number,
  };
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => event(from + index));
const numbersOf = (events: readonly LeadershipEvent[] | null) => events?.map(({ number }) => number);

function recordUpTo(eventNumber: number): ElectionRecord {
  return { ...EMPTY_RECORD, eventNumber, events: range(Math.max(1, eventNumber - 3), eventNumber) };
}

describe("merging histories by event number", () => {
  test("overlapping histories merge into one list in order, each event once", () => {
    expect(mergeEvents(range(1, 3), range(2, 5))).toEqual(range(1, 5));
    expect(mergeEvents(range(4, 5), range(1, 5))).toEqual(range(1, 5));
    expect(mergeEvents([], range(1, 2))).toEqual(range(1, 2));
    expect(mergeEvents(range(1, 2), [])).toEqual(range(1, 2));
  });

  test("a merged history keeps the last 64 events", () => {
    expect(mergeEvents(range(1, 64), range(63, 66))).toEqual(range(3, 66));
  });

  test("merging in any order by any number of servers neither loses nor duplicates an event", () => {
    const slices = fc.array(fc.tuple(fc.nat(90), fc.nat(30)), { maxLength: 12 });
    fc.assert(
      fc.property(slices, fc.array(fc.nat(), { minLength: 12, maxLength: 12 }), (some, order) => {
        const lists = some.map(([from, length]) => range(from + 1, from + length));
        const shuffled = lists
          .map((list, index) => ({ list, at: order[index] ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ list }) => list);
        const merged = lists.reduce<readonly LeadershipEvent[]>(mergeEvents, []);
        const all = [...new Set(lists.flat().map(({ number }) => number))].sort((a, b) => a - b);
        expect(numbersOf(merged)).toEqual(all.slice(-EVENTS_IN_HISTORY));
        expect(shuffled.reduce<readonly LeadershipEvent[]>(mergeEvents, [])).toEqual(merged);
        expect(mergeEvents(merged, merged)).toEqual(merged);
      }),
      runs(500),
    );
  });
});

describe("losesEvents", () => {
  test.each([
    [4, 0, false],
    [5, 0, true],
    [5, 1, false],
    [6, 1, true],
    [9, 5, false],
    [9, 4, true],
    [9, 9, false],
  ])(
    "a write to a record up to event %i with a history up to %i loses events: %s",
    (recordNumber, historyNumber, loses) => {
      expect(losesEvents(recordUpTo(recordNumber), historyNumber)).toBe(loses);
    },
  );

  test("a write to an empty record loses no event", () => {
    expect(losesEvents(EMPTY_RECORD, 0)).toBe(false);
  });
});

describe("eventsAfter", () => {
  test("the events after a cursor are all later ones, without a gap", () => {
    expect(numbersOf(eventsAfter(range(1, 5), 2))).toEqual([3, 4, 5]);
    expect(numbersOf(eventsAfter(range(3, 5), 2))).toEqual([3, 4, 5]);
    expect(eventsAfter(range(1, 5), 5)).toEqual([]);
  });

  test("the events after a cursor are unknown if one of them is missing", () => {
    expect(eventsAfter(range(4, 5), 2)).toBeNull();
    expect(eventsAfter([...range(1, 3), ...range(5, 6)], 2)).toBeNull();
    expect(numbersOf(eventsAfter([...range(1, 3), ...range(5, 6)], 4))).toEqual([5, 6]);
  });
});

const someone: Holder = { nodeId: "a", instanceId: null, ttlMs: 1_000, priority: 0, metadata: null };

/** The next change of leadership: an end if there is a holder, else a beginning. */
function change(record: ElectionRecord, handover: boolean): ElectionRecord {
  if (record.holder === null) return beginTerm(record, someone, 1_010, { wallMs: record.eventNumber }).next;
  const ended = endTerm(record, record.holder, "resigned", { wallMs: record.eventNumber }).next;
  return handover ? beginTerm(ended, someone, 1_010, { wallMs: ended.eventNumber }).next : ended;
}

const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ verb: fc.constantFrom("change" as const, "handover" as const) }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant("delete" as const) }) },
  // Any server writes the history from its view of both keys, which may be old; then the store refuses the write.
  { weight: 2, arbitrary: fc.record({ verb: fc.constant("repair" as const) }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant("see" as const), server: fc.nat(1) }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant("read" as const), server: fc.nat(1) }) },
);

interface View {
  record: ElectionRecord;
  history: readonly LeadershipEvent[];
  /** The watcher here has received all events up to this one. */
  cursor: number;
  resyncs: number;
}

/** Reads as a watcher does: the record's own events first, then the history's. */
function missing({ record, history, cursor }: View): readonly LeadershipEvent[] | null {
  return cursor >= record.eventNumber - record.events.length
    ? eventsAfter(record.events, cursor)
    : eventsAfter(mergeEvents(history, record.events), cursor);
}

describe("histories written and repaired by several servers", () => {
  test("history and record neither lose nor duplicate one of the last 64 events, and cursors neither skip nor repeat", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 150, size: "max" }), (acts) => {
        const all: LeadershipEvent[] = [];
        let record = EMPTY_RECORD;
        let history: readonly LeadershipEvent[] = [];
        let dropped = 0;
        const views: View[] = [0, 1].map(() => ({ record, history, cursor: 0, resyncs: 0 }));
        const given: LeadershipEvent[][] = [[], []];
        for (const each of acts) {
          switch (each.verb) {
            case "change":
            case "handover":
            case "delete": {
              const decision = decideDelete({ record, ageMs: 0 }, true, ORDER, {
                wallMs: record.eventNumber,
              });
              const deleted = decision.kind === "write" ? decision.next : record;
              const next = each.verb === "delete" ? deleted : change(record, each.verb === "handover");
              // The history is written first.
              if (losesEvents(next, history.at(-1)?.number ?? 0))
                history = mergeEvents(history, record.events);
              expect(losesEvents(next, history.at(-1)?.number ?? 0)).toBe(false);
              all.push(...next.events.slice(next.events.length - (next.eventNumber - record.eventNumber)));
              record = next;
              if (record.deleted) dropped = Math.max(0, all.length - 1);
              break;
            }
            case "repair":
              history = record.deleted ? record.events : mergeEvents(history, record.events);
              break;
            case "see":
              views[each.server] = { ...views[each.server]!, record, history };
              break;
            case "read": {
              const view = views[each.server]!;
              const events = missing(view);
              if (events === null) {
                // More than 64 events have passed, or a deletion has dropped some: one RESYNC to the current state.
                const passed = view.record.eventNumber - view.cursor;
                expect(passed > EVENTS_IN_HISTORY || view.cursor < dropped).toBe(true);
                view.cursor = view.record.eventNumber;
                given[each.server] = all.slice(0, view.cursor);
              } else {
                given[each.server]!.push(...events);
                view.cursor = view.record.eventNumber;
              }
              expect(given[each.server]).toEqual(all.slice(0, view.cursor));
              break;
            }
          }
          expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1));
          const kept = mergeEvents(history, record.events).filter(({ number }) => number > dropped);
          expect(kept).toEqual(all.slice(Math.max(dropped, all.length - EVENTS_IN_HISTORY)));
        }
      }),
      runs(500),
    );
  });
});
