import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../policy.js";
import type { EndReason } from "../event.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import { bestWaiter } from "./upkeep.js";
import { decideCampaign } from "./campaign.js";
import { decideResign } from "./resign.js";
import { beginTerm, endTerm } from "./terms.js";
import { waitersOf } from "./waiters.test-kit.js";

const holder: Holder = { nodeId: "a", instanceId: "i1", ttlMs: 1_000, priority: 0, metadata: null };
const other: Holder = { ...holder, nodeId: "b" };
const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder, holdMs: 1_010, eventNumber: 3 };
const STAMP = { wallMs: 99 };

describe("events of terms", () => {
  test("events are numbered from 1", () => {
    const { next, events } = beginTerm(EMPTY_RECORD, holder, 1_010, STAMP);
    expect(events).toEqual([
      {
        number: 1,
        type: "LEADER_CHANGED",
        term: 1,
        leaderNodeId: "a",
        previousLeaderNodeId: null,
        reason: "none",
        tsMs: 99,
      },
    ]);
    expect(next).toMatchObject({ term: 1, holder, holdMs: 1_010, eventNumber: 1, events });
  });

  test("the record keeps the last four events", () => {
    let record = EMPTY_RECORD;
    for (let index = 0; index < 5; index++) {
      record = beginTerm(record, holder, 1, STAMP).next;
      record = endTerm(record, holder, "resigned", STAMP).next;
    }
    expect(record.eventNumber).toBe(10);
    expect(record.events.map(({ number, type, term }) => [number, type, term])).toEqual([
      [7, "LEADER_CHANGED", 4],
      [8, "LEADER_LOST", 4],
      [9, "LEADER_CHANGED", 5],
      [10, "LEADER_LOST", 5],
    ]);
  });

  test("a handover writes LEADER_LOST and LEADER_CHANGED in one write, in this order", () => {
    const ending = decideResign({ record: led, ageMs: 0 }, { nodeId: "a", term: 7, instanceId: null }, STAMP);
    if (ending.kind !== "resign") throw new Error("the holder may resign");
    const waiter = bestWaiter(ending.next, waitersOf([other]));
    const won = decideCampaign({ record: ending.next, ageMs: 0 }, waiter!.candidate, 0.01, STAMP);
    expect(won).toMatchObject({
      next: {
        eventNumber: 5,
        events: [
          { number: 4, type: "LEADER_LOST", term: 7, previousLeaderNodeId: "a", reason: "resigned" },
          { number: 5, type: "LEADER_CHANGED", term: 8, leaderNodeId: "b", reason: "resigned" },
        ],
      },
    });
  });
});

describe("the reason of an event is how the old term ended", () => {
  test.each<EndReason>(["expired", "resigned", "deposed", "transferred"])(
    "both events of a handover have the reason %s",
    (how) => {
      const ended = endTerm(led, holder, how, STAMP);
      expect(ended.events).toMatchObject([{ type: "LEADER_LOST", leaderNodeId: null, reason: how }]);
      expect(ended.next.ended).toEqual({ term: 7, nodeId: "a", instanceId: "i1", reason: how });
      expect(beginTerm(ended.next, other, 1, STAMP).events).toMatchObject([
        { type: "LEADER_CHANGED", previousLeaderNodeId: "a", reason: how },
      ]);
    },
  );

  test.each<EndReason>(["expired", "resigned", "transferred"])(
    "a deposed leader's term ends as deposed, even if it %s",
    (how) => {
      const { next, events } = endTerm({ ...led, deposed: { by: "operator" } }, holder, how, STAMP);
      expect(events).toMatchObject([{ reason: "deposed", by: "operator" }]);
      expect(next).toMatchObject({ deposed: null, ended: { reason: "deposed" } });
    },
  );

  test("an event names the operator if one asked for the change", () => {
    const asked = { ...led, transfer: { toNodeId: "b", leftMs: 9, ready: true, by: "operator" } };
    expect(endTerm(led, holder, "resigned", STAMP).events[0]).not.toHaveProperty("by");
    expect(endTerm(led, holder, "resigned", { ...STAMP, by: "tenure" }).events[0]?.by).toBe("tenure");
    expect(endTerm(asked, holder, "transferred", STAMP).events[0]?.by).toBe("operator");
    expect(endTerm(asked, holder, "expired", STAMP).events[0]).not.toHaveProperty("by");
  });
});

describe("takeover delay and transfer at the end of a term", () => {
  const delaying = {
    ...led,
    config: { policy: { ...DEFAULT_POLICY, takeoverDelayMs: 500 }, allowedNodes: null },
  };
  const transfer = { toNodeId: "b", leftMs: 900, ready: true, by: null };

  test.each<[EndReason, number, boolean]>([
    ["expired", 500, false],
    ["resigned", 0, true],
    ["deposed", 0, true],
    ["transferred", 0, true],
  ])("only an expiry starts the takeover delay and ends a transfer: %s", (how, delayMs, lasts) => {
    const { next } = endTerm({ ...delaying, transfer }, holder, how, STAMP);
    expect(next.delayMs).toBe(delayMs);
    expect(next.transfer).toEqual(lasts ? transfer : null);
  });
});

describe("beginTerm", () => {
  test("a new term keeps bans, pause and configuration, and ends transfer and takeover delay", () => {
    const vacant: ElectionRecord = {
      ...EMPTY_RECORD,
      term: 7,
      bans: [{ nodeId: "x", leftMs: 5 }],
      pause: { leftMs: 5 },
      delayMs: 5,
      transfer: { toNodeId: "b", leftMs: 9, ready: true, by: null },
      config: { policy: DEFAULT_POLICY, allowedNodes: null },
    };
    expect(beginTerm(vacant, other, 1_010, STAMP).next).toMatchObject({
      term: 8,
      bans: vacant.bans,
      pause: vacant.pause,
      transfer: null,
      delayMs: 0,
      config: vacant.config,
    });
  });
});
