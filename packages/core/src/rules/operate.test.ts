import { describe, expect, test } from "vitest";
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
const delaying = { policy: { ...DEFAULT_POLICY, takeoverDelayMs: 500 }, allowedNodes: null };

function stepDown(record: ElectionRecord, { ageMs = 0, banMs = 0, force = false } = {}): OperatorDecision {
  return decideStepDown({ record, ageMs }, { by: "operator", banMs, force }, { wallMs: 5, by: "operator" });
}

describe("step-down", () => {
  test("sets deposed and frees nothing: the lease runs on, without an event", () => {
    expect(stepDown(led, { ageMs: 100 })).toEqual({
      kind: "write",
      next: { ...led, holdMs: 910, deposed: { by: "operator" } },
      events: [],
    });
  });

  test("so that the leader renews no more", () => {
    const decision = stepDown(led);
    if (decision.kind !== "write") throw new Error("a step-down is a write");
    const claim = { nodeId: "a", term: 7, instanceId: "i1" };
    const renewal = decideRenew({ record: decision.next, ageMs: 0 }, claim, 1_000, 0.01);
    expect(renewal).toMatchObject({ kind: "not-leader" });
  });

  test("with force frees at once: one event, its reason deposed, and who asked", () => {
    expect(stepDown(led, { force: true })).toMatchObject({
      kind: "write",
      next: { holder: null, holdMs: 0, deposed: null, ended: { term: 7, reason: "deposed" } },
      events: [{ number: 4, type: "LEADER_LOST", term: 7, reason: "deposed", by: "operator" }],
    });
  });

  test("with a ban keeps the node from winning for that time", () => {
    expect(stepDown(led, { banMs: 5_000 })).toMatchObject({
      next: { bans: [{ nodeId: "a", leftMs: 5_000 }] },
    });
    expect(stepDown(led, { banMs: 5_000, force: true })).toMatchObject({
      next: { holder: null, bans: [{ nodeId: "a", leftMs: 5_000 }] },
    });
  });

  test("keeps the bans of others, and one per node", () => {
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

  test("leaves no takeover delay", () => {
    expect(stepDown({ ...led, config: delaying }, { force: true })).toMatchObject({ next: { delayMs: 0 } });
  });

  test("of a lease that is over frees the group", () => {
    expect(stepDown(led, { ageMs: 1_010 })).toMatchObject({ next: { holder: null }, events: [{ term: 7 }] });
  });

  test("ends a transfer", () => {
    const transfer = { toNodeId: "b", leftMs: 900, ready: true, by: null };
    expect(stepDown({ ...led, transfer })).toMatchObject({ next: { transfer: null } });
    expect(stepDown({ ...led, transfer }, { force: true })).toMatchObject({ next: { transfer: null } });
  });

  test("of a vacant group is a conflict", () => {
    expect(stepDown(vacant, { force: true })).toEqual({
      kind: "conflict",
      problem: "the group has no leader",
    });
  });

  test("keeps the record small: no more than 16 bans, of which those that are over do not count", () => {
    const bans = Array.from({ length: 16 }, (_, index) => ({ nodeId: `n${index}`, leftMs: 100 }));
    expect(stepDown({ ...led, bans }, { ageMs: 99, banMs: 1 })).toMatchObject({ kind: "conflict" });
    expect(stepDown({ ...led, bans }, { ageMs: 99 })).toMatchObject({ kind: "write" });
    expect(stepDown({ ...led, bans }, { ageMs: 100, banMs: 1 })).toMatchObject({
      kind: "write",
      next: { bans: [{ nodeId: "a", leftMs: 1 }] },
    });
  });
});

const ASKED = { toNodeId: "b", timeoutMs: 2_000, by: "operator", allowCold: false };

function transfer(record: ElectionRecord, toNodeId: string, ageMs = 0): OperatorDecision {
  return decideTransfer({ record, ageMs }, { ...ASKED, toNodeId }, successors(null));
}

describe("transfer", () => {
  test("names the successor and a time limit, and is not ready: the leader is not told yet", () => {
    expect(transfer(led, "b", 10)).toEqual({
      kind: "write",
      next: {
        ...led,
        holdMs: 1_000,
        transfer: { toNodeId: "b", leftMs: 2_000, ready: false, by: "operator" },
      },
      events: [],
    });
  });

  test("to the leader itself changes nothing", () => {
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
  ])("%s is a conflict, and nothing has changed", (_, record, ageMs) => {
    expect(transfer(record, "b", ageMs)).toMatchObject({ kind: "conflict" });
  });

  test("to a node that waits nowhere is a conflict that says what to do", () => {
    expect(decideTransfer({ record: led, ageMs: 0 }, ASKED, successors([]))).toEqual({
      kind: "conflict",
      problem: "b is not waiting for this group; let it campaign with a wait, then transfer again",
    });
  });

  test("to a cold node is a conflict that says what to do, unless a cold successor is allowed", () => {
    const known = successors([{ nodeId: "b", ready: false }]);
    const seen = { record: led, ageMs: 0 };
    expect(decideTransfer(seen, ASKED, known)).toEqual({
      kind: "conflict",
      problem: "b is still preparing; transfer again when it is ready, or set allow_cold to hand over before",
    });
    expect(decideTransfer(seen, { ...ASKED, allowCold: true }, known)).toMatchObject({
      kind: "write",
      next: { transfer: { toNodeId: "b", ready: false, allowCold: true } },
    });
  });

  describe("without a target", () => {
    const choose = (
      known: readonly { nodeId: string; ready: boolean }[],
      { record = led, allowCold = false } = {},
    ) => decideTransfer({ record, ageMs: 0 }, { ...ASKED, toNodeId: null, allowCold }, successors(known));

    test("goes to the best candidate that may win, and never to the leader itself", () => {
      const known = ["a", "b", "c"].map((nodeId) => ({ nodeId, ready: true }));
      expect(choose(known)).toMatchObject({ kind: "write", next: { transfer: { toNodeId: "b" } } });
      const banned = { ...led, bans: [{ nodeId: "b", leftMs: 500 }] };
      expect(choose(known, { record: banned })).toMatchObject({ next: { transfer: { toNodeId: "c" } } });
    });

    test("is a conflict that says so where no candidate waits, or none that is ready", () => {
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

  test("may be asked once the marks in its way are over", () => {
    expect(transfer({ ...led, transfer: mark }, "b", 500)).toMatchObject({ kind: "write" });
    expect(transfer({ ...led, pause: { leftMs: 500 } }, "b", 500)).toMatchObject({ kind: "write" });
    expect(transfer({ ...led, bans: [{ nodeId: "b", leftMs: 500 }] }, "b", 500)).toMatchObject({
      kind: "write",
    });
  });
});

describe("a transfer is", () => {
  const mark = { toNodeId: "b", leftMs: 500, ready: true, by: null };
  const progress = (record: ElectionRecord, ageMs = 0) =>
    transferProgress({ record, ageMs }, "b", 7, () => []);

  test("done when the successor leads a later term", () => {
    expect(progress({ ...led, term: 8, holder: { ...holder, nodeId: "b" } })).toEqual({ kind: "done" });
  });

  test("done when the successor led the next term, though another leads by now or nobody does", () => {
    const elected = { type: "LEADER_CHANGED", term: 8, leaderNodeId: "b", tsMs: 0 } as const;
    const events = [{ ...elected, number: 1, previousLeaderNodeId: "a", reason: "transferred" as const }];
    expect(progress({ ...vacant, term: 8, events })).toEqual({ kind: "done" });
    const later = { ...led, term: 9, holder: { ...holder, nodeId: "c" }, events };
    expect(progress(later)).toEqual({ kind: "done" });
  });

  test("unknown, and not failed, when the next term is over and neither record nor history shows who led it", () => {
    const later = { ...led, term: 9, holder: { ...holder, nodeId: "c" }, events: [] };
    expect(progress(later)).toMatchObject({ kind: "unknown" });
  });

  test("pending while its mark lasts, before and after the leader has resigned", () => {
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
    ["somebody else was elected", { ...led, term: 8, holder: { ...holder, nodeId: "c" } }, 0],
    ["another transfer has taken its place", { ...led, transfer: { ...mark, toNodeId: "c" } }, 0],
  ])("failed when %s", (_, record, ageMs) => {
    expect(progress(record, ageMs)).toMatchObject({ kind: "failed" });
  });
});

describe("pause", () => {
  test("lasts for the time given, or until resumed, and is set anew when asked again", () => {
    const paused = decidePause({ record: led, ageMs: 10 }, 400);
    expect(paused).toEqual({
      kind: "write",
      next: { ...led, holdMs: 1_000, pause: { leftMs: 400 } },
      events: [],
    });
    const again = decidePause({ record: { ...led, pause: { leftMs: 400 } }, ageMs: 100 }, null);
    expect(again).toMatchObject({ next: { pause: { leftMs: null } } });
  });

  test("is ended by resume, without an event", () => {
    expect(decideResume({ record: { ...led, pause: { leftMs: null } }, ageMs: 10 })).toEqual({
      kind: "write",
      next: { ...led, holdMs: 1_000, pause: null },
      events: [],
    });
  });

  test("that is over, or never was, needs no resume", () => {
    expect(decideResume({ record: led, ageMs: 0 })).toEqual({ kind: "unchanged" });
    expect(decideResume({ record: { ...led, pause: { leftMs: 40 } }, ageMs: 40 })).toEqual({
      kind: "unchanged",
    });
  });
});
