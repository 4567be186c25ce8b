import { describe, expect, test } from "vitest";
import { GroupBoard } from "./group-board.js";
import { stateOf } from "./group-row.js";
import { EVERY_ROW, filterRows, type Sort, type SortKey } from "./row-filter.js";
import { eventOf, groupOf } from "./wire.test-kit.js";

const NOW = 1_000_000;

describe("GroupBoard", () => {
  test("the board lists led groups in order of id, and replaces a row instead of changing it", () => {
    const board = new GroupBoard();
    board.applyEvent(eventOf("h", 4, "a", { type: "RESYNC" }));
    board.applyEvent(eventOf("g", 1, "a"));
    expect(board.ids).toEqual(["g", "h"]);
    const before = board.row("g");
    board.applyEvent(eventOf("g", 2, "b"));
    expect([before?.leader, board.row("g")?.leader]).toEqual(["a", "b"]);
  });

  test("the board keeps the higher term, from events and from answers alike", () => {
    const board = new GroupBoard();
    board.applyEvent(eventOf("g", 5, "b", { ts_ms: NOW }));
    // A page that was requested before the election.
    board.applyGroup(groupOf("g", 4, "a"), NOW);
    expect(board.row("g")).toMatchObject({ leader: "b", term: 5 });
    board.applyEvent(eventOf("g", 4, null));
    expect(board.row("g")).toMatchObject({ leader: "b", term: 5 });
    board.applyGroup(groupOf("g", 6, "c", { leaseLeftMs: 4000 }, NOW), NOW);
    expect(board.row("g")).toMatchObject({
      leader: "c",
      term: 6,
      expiresAtMs: NOW + 4000,
      changedAtMs: null,
    });
  });

  test("an old page does not bring a lost leader back", () => {
    const board = new GroupBoard();
    board.applyEvent(eventOf("g", 2, null, { ts_ms: NOW, reason: "resigned" }));
    board.applyGroup(groupOf("g", 2, "a"), NOW);
    expect(board.row("g")).toMatchObject({ leader: null, term: 2, reason: "resigned", isListed: true });
  });

  test("the full lease bar is the ttl of the leader, which is unknown for a new one", () => {
    const board = new GroupBoard();
    board.applyGroup(groupOf("g", 1, "a", { leaseLeftMs: 2000, ttlMs: 5000 }, NOW), NOW);
    expect(board.row("g")).toMatchObject({ ttlMs: 5000, expiresAtMs: NOW + 2000 });
    board.applyEvent(eventOf("g", 2, "b"));
    expect(board.row("g")).toMatchObject({ ttlMs: 0, expiresAtMs: null });
  });

  test("the board drops a group that its page no longer contains, and no group outside of that page", () => {
    const board = new GroupBoard();
    for (const id of ["a", "b", "c", "d"]) board.applyGroup(groupOf(id, 1, "n"), NOW);
    board.applyPage([groupOf("c", 1, "n")], "a", "c", NOW + 10_000);
    expect(board.ids).toEqual(["a", "c", "d"]);
    board.applyPage([], "c", null, NOW + 10_000);
    expect(board.ids).toEqual(["a", "c"]);
  });

  test("the board keeps a group that was elected after its page was requested", () => {
    const board = new GroupBoard();
    board.applyEvent(eventOf("new", 1, "n", { ts_ms: NOW + 1 }));
    board.applyPage([], null, null, NOW);
    expect(board.ids).toEqual(["new"]);
  });

  test("a group that never had a leader has no last change", () => {
    const board = new GroupBoard();
    board.applyGroup(groupOf("new", 0, null), NOW);
    board.applyEvent(eventOf("new", 0, null, { ts_ms: NOW }));
    expect(board.row("new")).toMatchObject({ changedAtMs: null, isListed: true });
  });

  test("the board does not list a group of which only an end is known, because it may be deleted", () => {
    const board = new GroupBoard();
    board.applyEvent(eventOf("gone", 3, null, { type: "RESYNC" }));
    expect(board.ids).toEqual([]);
    board.applyGroup(groupOf("gone", 3, null), NOW);
    expect(board.ids).toEqual(["gone"]);
  });
});

describe("the state of a group", () => {
  const board = new GroupBoard();
  board.applyGroup(groupOf("led", 1, "n"), NOW);
  board.applyGroup(groupOf("vacant", 1, null), NOW);
  board.applyGroup(groupOf("paused", 1, "n", { paused: true }), NOW);
  board.applyGroup(groupOf("paused-a-while", 1, null, { paused: true, paused_for_ms: 5000 }), NOW);
  board.applyGroup(groupOf("held", 1, null, { takeoverDelayMs: 5000 }), NOW);
  board.applyEvent(eventOf("held", 1, null, { ts_ms: NOW, reason: "expired" }));
  board.applyGroup(groupOf("rests", 1, null, { held_back: "takeover_delay", held_back_for_ms: 3000 }), NOW);
  board.applyGroup(groupOf("reserved", 1, null, { held_back: "reserved", held_back_for_ms: 3000 }), NOW);
  board.applyGroup(groupOf("deposed", 1, "n", { held_back: "deposed", held_back_for_ms: 3000 }), NOW);
  board.applyGroup(groupOf("free", 1, null, { takeoverDelayMs: 5000 }), NOW);
  board.applyEvent(eventOf("free", 1, null, { ts_ms: NOW, reason: "resigned" }));

  const stateAt = (id: string, ms: number) => {
    const row = board.row(id);
    return row === undefined ? null : stateOf(row, ms);
  };

  test.each([
    ["led", "led", "led"],
    ["vacant", "vacant", "vacant"],
    ["paused", "paused", "paused"],
    ["paused-a-while", "paused", "vacant"],
    ["held", "held back", "vacant"],
    ["rests", "held back", "vacant"],
    ["reserved", "held back", "vacant"],
    // Until its end is reported: the time left of a lease is only an estimate.
    ["deposed", "held back", "held back"],
    ["free", "vacant", "vacant"],
  ])("the state of the group %s is %s now and %s after five seconds", (id, now, later) => {
    expect([stateAt(id, NOW + 100), stateAt(id, NOW + 5000)]).toEqual([now, later]);
  });

  test("the state of a leader that was asked to step down is replaced by its end, and by the next leader", () => {
    const told = new GroupBoard();
    const state = () => {
      const row = told.row("g");
      return row === undefined ? null : stateOf(row, NOW);
    };
    told.applyGroup(groupOf("g", 1, "n", { held_back: "deposed", held_back_for_ms: 3000 }), NOW);
    // The watch reports the leader again, which is not new.
    told.applyEvent(eventOf("g", 1, "n"));
    expect(state()).toBe("held back");
    told.applyEvent(eventOf("g", 1, null, { ts_ms: NOW, reason: "deposed" }));
    expect(state()).toBe("vacant");
    // A page that was requested before.
    told.applyGroup(groupOf("g", 1, "n", { held_back: "deposed", held_back_for_ms: 3000 }), NOW);
    expect(state()).toBe("vacant");
    told.applyEvent(eventOf("g", 2, "m"));
    expect(state()).toBe("led");
  });

  test("groups are filtered by text and state, and counted whatever the state filter", () => {
    const { rows, counts, total } = filterRows(board, { ...EVERY_ROW, text: " PAUSED " }, NOW);
    expect(rows.map(({ groupId }) => groupId)).toEqual(["paused", "paused-a-while"]);
    expect([counts["paused"], counts["led"], total]).toEqual([2, 0, 2]);
    const led = filterRows(board, { ...EVERY_ROW, state: "led" }, NOW);
    expect([led.rows.length, led.total, led.counts["held back"]]).toEqual([1, 9, 4]);
    // The leader's name is searched too, and every word must match.
    expect(filterRows(board, { ...EVERY_ROW, text: "n led" }, NOW).rows).toHaveLength(1);
  });
});

describe("trouble", () => {
  const idsOf = (board: GroupBoard, sort: Sort = EVERY_ROW.sort) =>
    filterRows(board, { ...EVERY_ROW, sort }, NOW).rows.map(({ groupId }) => groupId);

  test("groups in trouble come first, and a group that never had a leader is not one of them", () => {
    const board = new GroupBoard();
    board.applyGroup(groupOf("a-led", 3, "n"), NOW);
    board.applyGroup(groupOf("b-new", 0, null), NOW);
    board.applyGroup(groupOf("c-paused", 1, "n", { paused: true }), NOW);
    board.applyGroup(groupOf("d-flaps", 9, null), NOW);
    board.applyGroup(groupOf("e-vacant", 1, null), NOW);
    board.applyGroup(groupOf("f-silent", 1, "n", { ttlMs: 10_000, leaseLeftMs: 9000 }, NOW), NOW);
    board.applyTroubles(
      new Map([
        ["d-flaps", "flapping"],
        ["f-silent", "missed_heartbeats"],
      ]),
    );
    expect(idsOf(board)).toEqual(["e-vacant", "d-flaps", "f-silent", "c-paused", "b-new", "a-led"]);
    board.applyTroubles(new Map());
    expect(idsOf(board)).toEqual(["d-flaps", "e-vacant", "c-paused", "b-new", "a-led", "f-silent"]);
  });

  test.each([
    ["a renewed lease is in order", 10_000, 9000, "led"],
    ["a lease that was not renewed for most of its time is overdue", 10_000, 2000, "overdue"],
    ["a lease too short for the page's clock is not judged", 1000, 100, "led"],
  ])("%s", (_, ttlMs, leaseLeftMs, state) => {
    const board = new GroupBoard();
    board.applyGroup(groupOf("g", 1, "n", { ttlMs, leaseLeftMs }, NOW), NOW);
    const row = board.row("g");
    expect(row && stateOf(row, NOW)).toBe(state);
    // What was read stays what it was: only another reading says that the leader is late.
    expect(row && stateOf(row, NOW + 9000)).toBe(state);
  });

  test("groups are sorted by each column, both ways, with what is unknown last", () => {
    const board = new GroupBoard();
    board.applyGroup(groupOf("a", 2, "z"), NOW);
    board.applyGroup(groupOf("b", 7, null), NOW);
    board.applyGroup(groupOf("c", 5, "y"), NOW);
    board.applyMembers("a", ["z"]);
    board.applyMembers("c", ["y", "z"]);
    const sorted = (by: SortKey) => [
      idsOf(board, { by, isReversed: false }),
      idsOf(board, { by, isReversed: true }),
    ];
    expect(sorted("group")).toEqual([
      ["a", "b", "c"],
      ["c", "b", "a"],
    ]);
    expect(sorted("term")).toEqual([
      ["b", "c", "a"],
      ["a", "c", "b"],
    ]);
    expect(sorted("leader")).toEqual([
      ["c", "a", "b"],
      ["a", "c", "b"],
    ]);
    expect(sorted("members")).toEqual([
      ["a", "c", "b"],
      ["c", "a", "b"],
    ]);
  });

  test("a leader that was not seen lately is one of the members", () => {
    const board = new GroupBoard();
    board.applyGroup(groupOf("g", 1, "n"), NOW);
    board.applyMembers("g", []);
    expect(board.row("g")?.members).toBe(1);
    board.applyMembers("g", ["m", "n"]);
    expect(board.row("g")?.members).toBe(2);
  });
});
