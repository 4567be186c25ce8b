import { describe, expect, test } from "vitest";
import type { OperatorAct } from "../operator-act.js";
import { DEFAULT_POLICY } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import {
  decidePause,
  decideResume,
  decideStepDown,
  decideTransfer,
  type OperatorDecision,
  transferProgress,
} from "./operate.js";
import { successors } from "./waiters.test-kit.js";
import { decideRenew } from "./renew.js";

const holder: Holder = { nodeId: "a", instanceId: "i1", ttlMs: 1_000, priority: 0, metadata: null };
const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder, holdMs: 1_010, eventNumber: 3 };
const vacant: ElectionRecord = { ...EMPTY_RECORD, term: 7 };
/** An act of the operator as the record shows it. */
const ORDER = { by: "operator", reason: "drill", tsMs: 5 };
const acted = (act: OperatorAct["act"], more: Partial<OperatorAct> = {}) => ({
  act: { number: 1, act, ...ORDER, term: 7, ...more },
});
const delaying = { policy: { ...DEFAULT_POLICY, takeoverDelayMs: 500 }, allowedNodes: null };

function stepDown(record: ElectionRecord, { ageMs = 0, banMs = 0, force = false } = {}): OperatorDecision {
  return decideStepDown({ record, ageMs }, { banMs, force }, ORDER, { wallMs: 5, by: "operator" });
}

describe("decideStepDown", () => {
  test("a step-down marks the leader as deposed and frees nothing: the lease runs on, without an event", () => {
    expect(stepDown(led, { ageMs: 100 })).toEqual({
      kind: "write",
      next: { ...led, ...acted("step-down", { nodeId: "a" }), holdMs: 910, deposed: { by: "operator" } },
      events: [],
    });
  });

  test("a leader that was stepped down cannot renew", () => {
    const decision = stepDown(led);
    if (decision.kind !== "write") throw new Error("a step-down is a write");
    const claim = { nodeId: "a", term: 7, instanceId: "i1" };
    const renewal = decideRenew({ record: decision.next, ageMs: 0 }, claim, 1_000, 0.01);
    expect(renewal).toMatchObject({ kind: "not-leader" });
  });

  test("a step-down with force frees the group at once, with one event that has reason deposed and the operator", () => {
    expect(stepDown(led, { force: true })).toMatchObject({
      kind: "write",
      next: { holder: null, holdMs: 0, deposed: null, ended: { term: 7, reason: "deposed" } },
      events: [{ number: 4, type: "LEADER_LOST", term: 7, reason: "deposed", by: "operator" }],
    });
  });

  test("a step-down with a ban keeps the node from winning for that time", () => {
    expect(stepDown(led, { banMs: 5_000 })).toMatchObject({
      next: { bans: [{ nodeId: "a", leftMs: 5_000 }] },
    });
    expect(stepDown(led, { banMs: 5_000, force: true })).toMatchObject({
      next: { holder: null, bans: [{ nodeId: "a", leftMs: 5_000 }] },
    });
  });

  test("a step-down keeps the bans of other nodes, and one ban per node", () => {
    const banned = {
      ...led,
      bans: [
        { nodeId: "a", leftMs: 900 },
        { nodeId: "b", leftMs: 900 },
      ],
    };
    expect(stepDown(banned, { ageMs: 100, banMs: 50 })).toMatchObject({
      next: {
        bans: [
          { nodeId: "b", leftMs: 800 },
          { nodeId: "a", leftMs: 50 },
        ],
      },
    });
    expect(stepDown(banned, { ageMs: 100 })).toMatchObject({
      next: { bans: [{ leftMs: 800 }, { leftMs: 800 }] },
    });
  });

  test("a step-down leaves no takeover delay", () => {
    expect(stepDown({ ...led, config: delaying }, { force: true })).toMatchObject({ next: { delayMs: 0 } });
  });

  test("a step-down of an expired lease frees the group", () => {
    expect(stepDown(led, { ageMs: 1_010 })).toMatchObject({ next: { holder: null }, events: [{ term: 7 }] });
  });

  test("a step-down ends a transfer", () => {
    const transfer = { toNodeId: "b", leftMs: 900, ready: true, by: null };
    expect(stepDown({ ...led, transfer })).toMatchObject({ next: { transfer: null } });
    expect(stepDown({ ...led, transfer }, { force: true })).toMatchObject({ next: { transfer: null } });
  });

  test("a step-down of a vacant group is a conflict", () => {
    expect(stepDown(vacant, { force: true })).toEqual({
      kind: "conflict",
      problem: "the group has no leader",
    });
  });

  test("a record has at most 16 bans, and bans that are over do not count", () => {
    const bans = Array.from({ length: 16 }, (_, index) => ({ nodeId: `n${index}`, leftMs: 100 }));
    expect(stepDown({ ...led, bans }, { ageMs: 99, banMs: 1 })).toMatchObject({ kind: "conflict" });
    expect(stepDown({ ...led, bans }, { ageMs: 99 })).toMatchObject({ kind: "write" });
    expect(stepDown({ ...led, bans }, { ageMs: 100, banMs: 1 })).toMatchObject({
      kind: "write",
      next: { bans: [{ nodeId: "a", leftMs: 1 }] },
    });
  });
});

const ASKED = { toNodeId: "b", timeoutMs: 2_000, allowCold: false };

function transfer(record: ElectionRecord, toNodeId: string, ageMs = 0): OperatorDecision {
  return decideTransfer({ record, ageMs }, { ...ASKED, toNodeId }, successors(null), ORDER);
}

describe("decideTransfer", () => {
  test("a transfer names the successor and a time limit, and does not ask the leader to yield yet", () => {
    expect(transfer(led, "b", 10)).toEqual({
      kind: "write",
      next: {
        ...led,
        ...acted("transfer", { nodeId: "b" }),
        holdMs: 1_000,
        transfer: { toNodeId: "b", leftMs: 2_000, ready: false, by: "operator" },
      },
      events: [],
    });
  });

  test("a transfer to the leader itself changes nothing", () => {
    expect(transfer(led, "a")).toEqual({ kind: "unchanged" });
  });

  const mark = { toNodeId: "c", leftMs: 500, ready: false, by: null };

  test.each<[string, ElectionRecord, number]>([
    ["of a vacant group", vacant, 0],
    ["of a lease that is over", led, 1_010],
    ["of a deposed leader", { ...led, deposed: { by: "o" } }, 0],
    ["of a paused group", { ...led, pause: { leftMs: null } }, 0],
    ["while another lasts", { ...led, transfer: mark }, 499],
    ["to a banned node", { ...led, bans: [{ nodeId: "b", leftMs: 500 }] }, 499],
    [
      "to a node that is not allowed",
      { ...led, config: { policy: DEFAULT_POLICY, allowedNodes: ["a", "c"] } },
      0,
    ],
  ])("a transfer %s is a conflict and changes nothing", (_, record, ageMs) => {
    expect(transfer(record, "b", ageMs)).toMatchObject({ kind: "conflict" });
  });

  test("a transfer to a node that waits nowhere is a conflict that says what to do", () => {
    expect(decideTransfer({ record: led, ageMs: 0 }, ASKED, successors([]), ORDER)).toEqual({
      kind: "conflict",
      problem: "b is not waiting for this group; let it campaign with a wait, then transfer again",
    });
  });

  test("a transfer to a cold node is a conflict that says what to do, unless a cold successor is allowed", () => {
    const known = successors([{ nodeId: "b", ready: false }]);
    const seen = { record: led, ageMs: 0 };
    expect(decideTransfer(seen, ASKED, known, ORDER)).toEqual({
      kind: "conflict",
      problem: "b is still preparing; transfer again when it is ready, or set allow_cold to hand over before",
    });
    expect(decideTransfer(seen, { ...ASKED, allowCold: true }, known, ORDER)).toMatchObject({
      kind: "write",
      next: { transfer: { toNodeId: "b", ready: false, allowCold: true } },
    });
  });

  describe("decideTransfer without a target", () => {
    const choose = (
      known: readonly { nodeId: string; ready: boolean }[],
      { record = led, allowCold = false } = {},
    ) =>
      decideTransfer({ record, ageMs: 0 }, { ...ASKED, toNodeId: null, allowCold }, successors(known), ORDER);

    test("a transfer without a target goes to the best candidate that may win, and never to the leader itself", () => {
      const known = ["a", "b", "c"].map((nodeId) => ({ nodeId, ready: true }));
      expect(choose(known)).toMatchObject({ kind: "write", next: { transfer: { toNodeId: "b" } } });
      const banned = { ...led, bans: [{ nodeId: "b", leftMs: 500 }] };
      expect(choose(known, { record: banned })).toMatchObject({ next: { transfer: { toNodeId: "c" } } });
    });

    test("a transfer without a target is a conflict with that reason if no ready candidate waits", () => {
      expect(choose([{ nodeId: "a", ready: true }])).toEqual({
        kind: "conflict",
        problem: "no candidate is waiting for this group; let one campaign with a wait, then transfer again",
      });
      expect(choose([{ nodeId: "b", ready: false }])).toEqual({
        kind: "conflict",
        problem:
          "every candidate that waits for this group is still preparing; transfer again when one is ready, or set allow_cold to hand over before",
      });
      expect(choose([{ nodeId: "b", ready: false }], { allowCold: true })).toMatchObject({
        next: { transfer: { toNodeId: "b", allowCold: true } },
      });
    });
  });

  test("a transfer is accepted once an earlier transfer, pause or ban is over", () => {
    expect(transfer({ ...led, transfer: mark }, "b", 500)).toMatchObject({ kind: "write" });
    expect(transfer({ ...led, pause: { leftMs: 500 } }, "b", 500)).toMatchObject({ kind: "write" });
    expect(transfer({ ...led, bans: [{ nodeId: "b", leftMs: 500 }] }, "b", 500)).toMatchObject({
      kind: "write",
    });
  });
});

describe("the progress of a transfer", () => {
  const mark = { toNodeId: "b", leftMs: 500, ready: true, by: null };
  const progress = (record: ElectionRecord, ageMs = 0) =>
    transferProgress({ record, ageMs }, "b", 7, () => []);

  test("a transfer is done when the successor leads a later term", () => {
    expect(progress({ ...led, term: 8, holder: { ...holder, nodeId: "b" } })).toEqual({ kind: "done" });
  });

  test("a transfer is done when the successor led the next term, even if another or no node leads by now", () => {
    const elected = { type: "LEADER_CHANGED", term: 8, leaderNodeId: "b", tsMs: 0 } as const;
    const events = [{ ...elected, number: 1, previousLeaderNodeId: "a", reason: "transferred" as const }];
    expect(progress({ ...vacant, term: 8, events })).toEqual({ kind: "done" });
    const later = { ...led, term: 9, holder: { ...holder, nodeId: "c" }, events };
    expect(progress(later)).toEqual({ kind: "done" });
  });

  test("a transfer is unknown, not failed, if neither record nor history shows who led the next term", () => {
    const later = { ...led, term: 9, holder: { ...holder, nodeId: "c" }, events: [] };
    expect(progress(later)).toMatchObject({ kind: "unknown" });
  });

  test("a transfer is pending while it lasts, before and after the leader has resigned", () => {
    expect(progress({ ...led, transfer: mark }, 100)).toEqual({ kind: "pending", leftMs: 400, ready: true });
    expect(progress({ ...vacant, transfer: { ...mark, ready: false } })).toEqual({
      kind: "pending",
      leftMs: 500,
      ready: false,
    });
  });

  test.each<[string, ElectionRecord, number]>([
    ["the leader did not yield in time", { ...led, transfer: mark }, 500],
    ["the successor did not come in time", { ...vacant, transfer: mark }, 500],
    ["another node was elected", { ...led, term: 8, holder: { ...holder, nodeId: "c" } }, 0],
    ["another transfer has taken its place", { ...led, transfer: { ...mark, toNodeId: "c" } }, 0],
  ])("a transfer has failed when %s", (_, record, ageMs) => {
    expect(progress(record, ageMs)).toMatchObject({ kind: "failed" });
  });
});

describe("decidePause and decideResume", () => {
  test("a pause lasts for the given time or until resumed, and a second pause replaces the first", () => {
    const paused = decidePause({ record: led, ageMs: 10 }, { forMs: 400, create: false }, ORDER);
    expect(paused).toEqual({
      kind: "write",
      next: {
        ...led,
        ...acted("pause", { forMs: 400 }),
        holdMs: 1_000,
        pause: { leftMs: 400, order: ORDER },
      },
      events: [],
    });
    const record = { ...led, pause: { leftMs: 400 } };
    const again = decidePause({ record, ageMs: 100 }, { forMs: null, create: false }, ORDER);
    expect(again).toMatchObject({ next: { pause: { leftMs: null } } });
  });

  test("a resume ends a pause, without an event", () => {
    expect(decideResume({ record: { ...led, pause: { leftMs: null } }, ageMs: 10 }, ORDER)).toEqual({
      kind: "write",
      next: { ...led, ...acted("resume"), holdMs: 1_000, pause: null },
      events: [],
    });
  });

  test("a resume without a pause in force changes nothing", () => {
    expect(decideResume({ record: led, ageMs: 0 }, ORDER)).toEqual({ kind: "unchanged" });
    expect(decideResume({ record: { ...led, pause: { leftMs: 40 } }, ageMs: 40 }, ORDER)).toEqual({
      kind: "unchanged",
    });
  });
});
