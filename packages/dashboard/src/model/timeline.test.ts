import { describe, expect, test } from "vitest";
import { buildTimeline, changeRate, failoversOf } from "./timeline.js";
import type { EndReason, HistoryEvent } from "./wire.js";

let number = 0;
function won(node: string, term: number, ts_ms: number): HistoryEvent {
  const event = {
    type: "LEADER_CHANGED",
    group_id: "g",
    reason: "none",
    previous_leader_node_id: null,
  } as const;
  return { ...event, number: ++number, term, ts_ms, leader_node_id: node };
}
function lost(node: string, term: number, ts_ms: number, reason: EndReason, by?: string): HistoryEvent {
  const event = { type: "LEADER_LOST", group_id: "g", leader_node_id: null } as const;
  return {
    ...event,
    number: ++number,
    term,
    ts_ms,
    reason,
    previous_leader_node_id: node,
    ...(by && { by }),
  };
}

describe("buildTimeline", () => {
  test("a timeline without events is empty", () => {
    expect(buildTimeline([], 100)).toEqual([]);
  });

  test("a timeline shows each term, why it ended, and every gap", () => {
    const events = [
      won("a", 1, 100),
      lost("a", 1, 200, "expired"),
      won("b", 2, 250),
      lost("b", 2, 300, "transferred", "ops"),
      won("c", 3, 300),
      lost("c", 3, 400, "resigned"),
    ];
    expect(buildTimeline(events, 1000)).toEqual([
      { kind: "led", nodeId: "a", term: 1, fromMs: 100, toMs: 200, isCut: false, ended: "expired" },
      { kind: "gap", fromMs: 200, toMs: 250, reason: "expired", isOpen: false },
      {
        kind: "led",
        nodeId: "b",
        term: 2,
        fromMs: 250,
        toMs: 300,
        isCut: false,
        ended: "transferred",
        by: "ops",
      },
      { kind: "led", nodeId: "c", term: 3, fromMs: 300, toMs: 400, isCut: false, ended: "resigned" },
      { kind: "gap", fromMs: 400, toMs: 1000, reason: "resigned", isOpen: true },
    ]);
  });

  test("a timeline extends the last term to now", () => {
    expect(buildTimeline([won("a", 1, 100)], 500)).toEqual([
      { kind: "led", nodeId: "a", term: 1, fromMs: 100, toMs: 500, isCut: false, ended: null },
    ]);
  });

  test("a timeline marks a history that begins in the middle of a term", () => {
    const [first] = buildTimeline([lost("a", 9, 100, "resigned"), won("b", 10, 100)], 200);
    expect(first).toMatchObject({ kind: "led", nodeId: "a", term: 9, isCut: true });
  });

  test("a timeline keeps the order of events if the clocks of servers differ", () => {
    const spans = buildTimeline([won("a", 1, 500), lost("a", 1, 400, "expired"), won("b", 2, 450)], 460);
    expect(spans.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])).toEqual([
      ["led", 500, 500],
      ["led", 500, 500],
    ]);
  });

  test("a timeline does not show a gap for a missing loss", () => {
    const spans = buildTimeline([won("a", 1, 100), won("b", 3, 200)], 300);
    expect(spans.map((span) => [span.kind, span.kind === "led" && span.ended])).toEqual([
      ["led", null],
      ["led", null],
    ]);
  });
});

test("a failover takes from the last sign of the old leader to the next leader", () => {
  const events = [
    won("a", 1, 100),
    { ...lost("a", 1, 20_200, "expired"), silent_ms: 15_000 },
    won("b", 2, 20_260),
    lost("b", 2, 20_300, "transferred"),
    won("a", 3, 20_300),
  ];
  expect(failoversOf(buildTimeline(events, 20_400))).toEqual([
    {
      atMs: 20_260,
      term: 2,
      nodeId: "b",
      previousNodeId: "a",
      reason: "expired",
      tookMs: 15_060,
      silentMs: 15_000,
    },
    {
      atMs: 20_300,
      term: 3,
      nodeId: "a",
      previousNodeId: "b",
      reason: "transferred",
      tookMs: 0,
      silentMs: 0,
    },
  ]);
});

test("the rate of changes is counted over the time that the events span", () => {
  const everyTwoSeconds = Array.from({ length: 32 }, (_, i) => won("a", 600 + i, 2000 * i));
  expect(changeRate(everyTwoSeconds, 2000 * 31)).toEqual({ changes: 31, spanMs: 62_000 });
  // Calm since: the time that has passed without a change counts too.
  expect(changeRate(everyTwoSeconds, 3_600_000)).toEqual({ changes: 31, spanMs: 3_600_000 });
  expect(changeRate([], 5000)).toBeNull();
});
