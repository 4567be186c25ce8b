import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY, type GroupPolicy } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import { bestWaiter, decideUpkeep, type UpkeepDecision, type WaitingCampaign, YIELD_MS } from "./upkeep.js";
import { type Arrival, cold, waitersOf } from "./waiters.test-kit.js";

function node(nodeId: string, priority = 0, instanceId: string | null = "i1"): Holder {
  return { nodeId, instanceId, ttlMs: 1_000, priority, metadata: null };
}

const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder: node("a"), holdMs: 1_010 };
const vacant: ElectionRecord = { ...EMPTY_RECORD, term: 7 };
const PRIORITY: Partial<GroupPolicy> = { strategy: "priority" };

function withPolicy(record: ElectionRecord, policy: Partial<GroupPolicy>): ElectionRecord {
  return { ...record, config: { policy: { ...DEFAULT_POLICY, ...policy }, allowedNodes: null } };
}

function look(
  record: ElectionRecord,
  ageMs: number,
  ...waiters: readonly (Holder | Arrival)[]
): UpkeepDecision<WaitingCampaign> {
  return decideUpkeep({ record, ageMs }, waitersOf(waiters), { wallMs: 77 });
}

describe("decideUpkeep: the end of a lease", () => {
  test("an expired lease becomes a vacancy if no candidate waits", () => {
    expect(look(led, 1_010)).toMatchObject({
      kind: "write",
      next: { term: 7, holder: null, holdMs: 0, ended: { term: 7, nodeId: "a", reason: "expired" } },
      events: [{ type: "LEADER_LOST", reason: "expired", previousLeaderNodeId: "a", tsMs: 77 }],
    });
  });

  test("an expired lease goes to a waiting candidate", () => {
    expect(look(led, 1_010, node("b"))).toMatchObject({ kind: "campaign", waiter: { candidate: node("b") } });
  });

  test("an expired lease becomes a vacancy if the waiting candidate is banned", () => {
    const banned = { ...led, bans: [{ nodeId: "b", leftMs: 9_000 }] };
    expect(look(banned, 1_010, node("b"))).toMatchObject({ kind: "write", next: { holder: null } });
  });

  test("a lease is not ended before its age has reached the hold, and upkeep looks again then", () => {
    expect(look(led, 1_009.5, node("b"))).toEqual({ kind: "rest", lookAgainMs: 0.5 });
    expect(look(led, 0)).toEqual({ kind: "rest", lookAgainMs: 1_010 });
  });

  test("a vacancy without a waiter needs no further upkeep", () => {
    expect(look(vacant, 1e9)).toEqual({ kind: "rest", lookAgainMs: null });
  });

  test("the lease of a paused group still expires, and no candidate wins", () => {
    const paused = { ...led, pause: { leftMs: null } };
    expect(look(paused, 1_010, node("b"))).toMatchObject({
      kind: "write",
      next: { holder: null, pause: { leftMs: null } },
    });
  });

  test("the expired lease of a deposed leader ends as deposed by the operator", () => {
    expect(look({ ...led, deposed: { by: "operator" } }, 1_010)).toMatchObject({
      kind: "write",
      next: { deposed: null, ended: { reason: "deposed" } },
      events: [{ reason: "deposed", by: "operator" }],
    });
  });

  test("an expiry ends a transfer, and any candidate can win", () => {
    const transfer = { toNodeId: "z", leftMs: 9_000, ready: true, by: null };
    expect(look({ ...led, transfer }, 1_010)).toMatchObject({ next: { transfer: null } });
    expect(look({ ...led, transfer }, 1_010, node("b"))).toMatchObject({ kind: "campaign" });
  });
});

describe("decideUpkeep: takeover delay", () => {
  const resting = withPolicy(led, { takeoverDelayMs: 500 });

  test("with a takeover delay an expiry is written as a vacancy first, even if a candidate waits", () => {
    expect(look(resting, 1_010, node("b"))).toMatchObject({
      kind: "write",
      next: { holder: null, delayMs: 500 },
    });
  });

  test("the takeover delay counts from the sight of the vacancy, and a waiter wins when it has passed", () => {
    const vacancy = { ...withPolicy(vacant, { takeoverDelayMs: 500 }), delayMs: 500 };
    expect(look(vacancy, 100, node("b"))).toEqual({ kind: "rest", lookAgainMs: 400 });
    expect(look(vacancy, 500, node("b"))).toMatchObject({ kind: "campaign" });
  });

  test("the lease of a deposed leader is followed by no takeover delay", () => {
    const deposed = { ...resting, deposed: { by: "o" } };
    expect(look(deposed, 1_010)).toMatchObject({ kind: "write", next: { delayMs: 0 } });
    expect(look(deposed, 1_010, node("b"))).toMatchObject({ kind: "campaign" });
  });
});

describe("decideUpkeep: the winner of a vacancy", () => {
  const equals = [node("b"), node("c")];
  const ranked = [node("b", 1), node("c", 5), node("d", 5), node("e", -3)];

  test.each([
    ['the first candidate to come with strategy "first"', { strategy: "first" as const }, ranked, "b"],
    ['the highest priority with strategy "priority"', PRIORITY, ranked, "c"],
    ["the first candidate to come among equals", PRIORITY, equals, "b"],
    ["a candidate of negative priority if there is no other", PRIORITY, [node("e", -3)], "e"],
  ])("a vacancy goes to %s", (_, policy, waiters, winner) => {
    expect(bestWaiter(withPolicy(vacant, policy), waitersOf(waiters))?.candidate.nodeId).toBe(winner);
    expect(look(withPolicy(vacant, policy), 0, ...waiters)).toMatchObject({
      waiter: { candidate: { nodeId: winner } },
    });
  });

  test.each<[string, readonly (Holder | Arrival)[], string]>([
    ["a ready candidate before a cold one that came first", [cold(node("b")), node("c")], "c"],
    ["a ready candidate before a cold one of higher priority", [cold(node("b", 9)), node("c", -1)], "c"],
    ["the first by strategy among several ready candidates", [cold(node("b", 9)), ...ranked.slice(1)], "c"],
    [
      "the first by strategy among the cold candidates, if no ready one waits",
      [cold(node("b")), cold(node("c", 1))],
      "c",
    ],
  ])("a vacancy goes to %s", (_, waiters, winner) => {
    const ranked = withPolicy(vacant, PRIORITY);
    expect(look(ranked, 0, ...waiters)).toMatchObject({ waiter: { candidate: { nodeId: winner } } });
  });

  test("a vacancy goes to a cold candidate if the ready one is banned", () => {
    const banned = { ...vacant, bans: [{ nodeId: "b", leftMs: 100 }] };
    expect(look(banned, 0, node("b"), cold(node("c")))).toMatchObject({
      waiter: { candidate: { nodeId: "c" } },
    });
  });

  test("a vacancy goes to the reserved successor even if it is cold, before a ready candidate", () => {
    const transfer = { toNodeId: "b", leftMs: 100, ready: true, by: null };
    expect(look({ ...vacant, transfer }, 0, node("c"), cold(node("b")))).toMatchObject({
      waiter: { candidate: { nodeId: "b" } },
    });
  });

  test("a vacancy without a waiter has no winner", () => {
    expect(bestWaiter(vacant, waitersOf([]))).toBeNull();
  });

  test("a vacancy goes to the next candidate if the best one is banned", () => {
    const banned = withPolicy({ ...vacant, bans: [{ nodeId: "c", leftMs: 100 }] }, PRIORITY);
    expect(bestWaiter(banned, waitersOf(ranked))?.candidate.nodeId).toBe("d");
    expect(look(banned, 100, ...ranked)).toMatchObject({ waiter: { candidate: { nodeId: "c" } } });
  });

  test("a vacancy goes to the successor alone while a transfer lasts, whatever its priority", () => {
    const transfer = { toNodeId: "e", leftMs: 100, ready: true, by: null };
    const reserved = withPolicy({ ...vacant, transfer }, PRIORITY);
    expect(bestWaiter(reserved, waitersOf(ranked))?.candidate.nodeId).toBe("e");
    expect(look(reserved, 40, node("b", 9))).toEqual({ kind: "rest", lookAgainMs: 60 });
    expect(look(reserved, 100, node("b", 9))).toMatchObject({ kind: "campaign" });
  });

  test("a vacancy goes to no candidate while the group is paused, and upkeep looks again when the pause ends", () => {
    expect(look({ ...vacant, pause: { leftMs: null } }, 1e9, ...ranked)).toEqual({
      kind: "rest",
      lookAgainMs: null,
    });
    expect(look({ ...vacant, pause: { leftMs: 70 } }, 20, ...ranked)).toEqual({
      kind: "rest",
      lookAgainMs: 50,
    });
    expect(look({ ...vacant, pause: { leftMs: 70 } }, 70, ...ranked)).toMatchObject({ kind: "campaign" });
  });

  test("upkeep looks again when the first ban of a waiting candidate ends", () => {
    const bans = [
      { nodeId: "b", leftMs: 900 },
      { nodeId: "c", leftMs: 300 },
    ];
    expect(look({ ...vacant, bans }, 100, ...equals)).toEqual({ kind: "rest", lookAgainMs: 200 });
  });
});

describe("decideUpkeep: a holder that waits", () => {
  test("a waiting holder campaigns again, because only its own write extends its lease", () => {
    const again = node("a");
    expect(look(led, 100, node("b"), again)).toMatchObject({
      kind: "campaign",
      waiter: { candidate: again },
    });
  });

  test("a waiting holder is recognized by node and instance", () => {
    expect(look(led, 100, node("a", 0, "i2"), node("a", 0, null))).toMatchObject({ kind: "rest" });
  });

  test("a waiting holder that is deposed does not campaign again", () => {
    expect(look({ ...led, deposed: { by: "o" } }, 100, node("a"))).toMatchObject({ kind: "rest" });
  });
});

describe("decideUpkeep: transfer", () => {
  const transfer = { toNodeId: "b", leftMs: 400, ready: false, by: "operator" };
  const asked = { ...led, transfer };

  test("the leader is asked to yield once the successor is known to wait, without an event", () => {
    expect(look(asked, 100, node("c"), node("b"))).toEqual({
      kind: "write",
      next: { ...asked, holdMs: 910, transfer: { ...transfer, leftMs: 300, ready: true } },
      events: [],
    });
  });

  test("the leader is not asked to yield while the successor does not wait here", () => {
    expect(look(asked, 100, node("c"))).toEqual({ kind: "rest", lookAgainMs: 300 });
  });

  test("the leader is not asked to yield to a cold successor, unless the operator has allowed that", () => {
    expect(look(asked, 100, cold(node("b")))).toEqual({ kind: "rest", lookAgainMs: 300 });
    expect(look(asked, 100, cold(node("b")), node("b", 0, "i2"))).toMatchObject({ kind: "write" });
    const allowed = { ...asked, transfer: { ...transfer, allowCold: true as const } };
    expect(look(allowed, 100, cold(node("b")))).toMatchObject({
      kind: "write",
      next: { transfer: { ready: true, allowCold: true } },
    });
  });

  test("the leader is asked to yield once only", () => {
    const ready = { ...asked, transfer: { ...transfer, ready: true } };
    expect(look(ready, 100, node("b"))).toEqual({ kind: "rest", lookAgainMs: 300 });
  });

  test("a leader is no longer asked to yield to a successor that has left, and an operator's transfer stays pending", () => {
    const ready = { ...asked, transfer: { ...transfer, ready: true } };
    const look = (record: ElectionRecord) =>
      decideUpkeep({ record, ageMs: 100 }, waitersOf([node("c")], "b"), { wallMs: 77 });
    expect(look(ready)).toEqual({
      kind: "write",
      next: { ...ready, holdMs: 910, transfer: { ...transfer, leftMs: 300, ready: false } },
      events: [],
    });
    const preemption = { ...ready.transfer, by: null };
    expect(look({ ...ready, transfer: preemption })).toMatchObject({
      kind: "write",
      next: { transfer: null },
    });
    expect(look({ ...ready, transfer: { ...ready.transfer, toNodeId: "z" } })).toMatchObject({
      kind: "rest",
    });
  });

  test("a vacancy is no longer reserved for a successor that has left", () => {
    const reserved = { ...vacant, transfer: { ...transfer, ready: true } };
    const decision = decideUpkeep({ record: reserved, ageMs: 100 }, waitersOf([node("c")], "b"), {
      wallMs: 77,
    });
    expect(decision).toEqual({ kind: "write", next: { ...vacant, transfer: null }, events: [] });
  });

  test("the leader is not asked to yield after the transfer's limit, nor once it is deposed", () => {
    expect(look(asked, 400, node("b"))).toEqual({ kind: "rest", lookAgainMs: 610 });
    expect(look({ ...asked, deposed: { by: "o" } }, 100, node("b"))).toMatchObject({ kind: "rest" });
  });
});

describe("decideUpkeep: preemption", () => {
  const preemptible = withPolicy(led, { strategy: "priority", preempt: true });

  test("a waiting candidate of higher priority becomes the ready successor, with a time limit", () => {
    expect(look(preemptible, 100, node("b", 1), node("c", 5))).toEqual({
      kind: "write",
      next: {
        ...preemptible,
        holdMs: 910,
        transfer: { toNodeId: "c", leftMs: YIELD_MS, ready: true, by: null },
      },
      events: [],
    });
  });

  test("preemption picks the highest ready candidate, not a cold one of higher priority", () => {
    expect(look(preemptible, 100, cold(node("b", 9)), node("c", 5))).toMatchObject({
      next: { transfer: { toNodeId: "c" } },
    });
    expect(look(preemptible, 100, cold(node("b", 9)), node("c", 0))).toMatchObject({ kind: "rest" });
  });

  test.each<[string, ElectionRecord, Holder | Arrival]>([
    ["a cold candidate", preemptible, cold(node("b", 9))],
    ["a candidate of equal priority", preemptible, node("b", 0)],
    ["a candidate of lower priority", preemptible, node("b", -1)],
    ["any candidate if the policy does not preempt", withPolicy(led, PRIORITY), node("b", 9)],
    ["any candidate while the group is paused", { ...preemptible, pause: { leftMs: null } }, node("b", 9)],
    ["a banned candidate", { ...preemptible, bans: [{ nodeId: "b", leftMs: 9_000 }] }, node("b", 9)],
    [
      "a candidate that is not allowed",
      { ...preemptible, config: { policy: preemptible.config!.policy, allowedNodes: ["a"] } },
      node("b", 9),
    ],
    ["any candidate once the leader is deposed", { ...preemptible, deposed: { by: "o" } }, node("b", 9)],
    [
      "any candidate while another transfer lasts",
      { ...preemptible, transfer: { toNodeId: "z", leftMs: 9_000, ready: false, by: "o" } },
      node("b", 9),
    ],
  ])("the leader is not preempted by %s", (_, record, challenger) => {
    expect(look(record, 100, challenger)).toMatchObject({ kind: "rest" });
  });

  test("preemption starts again when a leader has let its limit pass", () => {
    const transfer = { toNodeId: "b", leftMs: 200, ready: true, by: null };
    expect(look({ ...preemptible, transfer }, 200, node("b", 9))).toMatchObject({
      kind: "write",
      next: { transfer: { leftMs: YIELD_MS } },
    });
  });
});
