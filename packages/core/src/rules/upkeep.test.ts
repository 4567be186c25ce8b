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

describe("expiry is written by whoever notices", () => {
  test("as a vacancy where nobody waits", () => {
    expect(look(led, 1_010)).toMatchObject({
      kind: "write",
      next: { term: 7, holder: null, holdMs: 0, ended: { term: 7, nodeId: "a", reason: "expired" } },
      events: [{ type: "LEADER_LOST", reason: "expired", previousLeaderNodeId: "a", tsMs: 77 }],
    });
  });

  test("as the next leader where somebody waits", () => {
    expect(look(led, 1_010, node("b"))).toMatchObject({ kind: "campaign", waiter: { candidate: node("b") } });
  });

  test("as a vacancy where whoever waits is held back", () => {
    const banned = { ...led, bans: [{ nodeId: "b", leftMs: 9_000 }] };
    expect(look(banned, 1_010, node("b"))).toMatchObject({ kind: "write", next: { holder: null } });
  });

  test("not before the age has reached the hold, and then there is something to do", () => {
    expect(look(led, 1_009.5, node("b"))).toEqual({ kind: "rest", lookAgainMs: 0.5 });
    expect(look(led, 0)).toEqual({ kind: "rest", lookAgainMs: 1_010 });
  });

  test("once: a vacancy is left alone", () => {
    expect(look(vacant, 1e9)).toEqual({ kind: "rest", lookAgainMs: null });
  });

  test("of a paused group too: its lease still expires, and no one wins", () => {
    const paused = { ...led, pause: { leftMs: null } };
    expect(look(paused, 1_010, node("b"))).toMatchObject({
      kind: "write",
      next: { holder: null, pause: { leftMs: null } },
    });
  });

  test("of a deposed leader as deposed, by whoever asked", () => {
    expect(look({ ...led, deposed: { by: "operator" } }, 1_010)).toMatchObject({
      kind: "write",
      next: { deposed: null, ended: { reason: "deposed" } },
      events: [{ reason: "deposed", by: "operator" }],
    });
  });

  test("ends a transfer as if it had never been asked for", () => {
    const transfer = { toNodeId: "z", leftMs: 9_000, ready: true, by: null };
    expect(look({ ...led, transfer }, 1_010)).toMatchObject({ next: { transfer: null } });
    expect(look({ ...led, transfer }, 1_010, node("b"))).toMatchObject({ kind: "campaign" });
  });
});

describe("takeover delay", () => {
  const resting = withPolicy(led, { takeoverDelayMs: 500 });

  test("after an expiry always the vacancy first, whoever waits", () => {
    expect(look(resting, 1_010, node("b"))).toMatchObject({
      kind: "write",
      next: { holder: null, delayMs: 500 },
    });
  });

  test("counts from the sight of the vacancy; a waiter is given it when it has passed", () => {
    const vacancy = { ...withPolicy(vacant, { takeoverDelayMs: 500 }), delayMs: 500 };
    expect(look(vacancy, 100, node("b"))).toEqual({ kind: "rest", lookAgainMs: 400 });
    expect(look(vacancy, 500, node("b"))).toMatchObject({ kind: "campaign" });
  });

  test("none after a deposed leader's lease", () => {
    const deposed = { ...resting, deposed: { by: "o" } };
    expect(look(deposed, 1_010)).toMatchObject({ kind: "write", next: { delayMs: 0 } });
    expect(look(deposed, 1_010, node("b"))).toMatchObject({ kind: "campaign" });
  });
});

describe("a vacancy is given to", () => {
  const equals = [node("b"), node("c")];
  const ranked = [node("b", 1), node("c", 5), node("d", 5), node("e", -3)];

  test.each([
    ["the first to come, where the strategy is first", { strategy: "first" as const }, ranked, "b"],
    ["the highest priority, where the strategy says so", PRIORITY, ranked, "c"],
    ["the first to come among equals", PRIORITY, equals, "b"],
    ["a negative priority if there is no other", PRIORITY, [node("e", -3)], "e"],
  ])("%s", (_, policy, waiters, winner) => {
    expect(bestWaiter(withPolicy(vacant, policy), waitersOf(waiters))?.candidate.nodeId).toBe(winner);
    expect(look(withPolicy(vacant, policy), 0, ...waiters)).toMatchObject({
      waiter: { candidate: { nodeId: winner } },
    });
  });

  test.each<[string, readonly (Holder | Arrival)[], string]>([
    ["a ready candidate before a cold one that came first", [cold(node("b")), node("c")], "c"],
    ["a ready candidate before a cold one of higher priority", [cold(node("b", 9)), node("c", -1)], "c"],
    ["the first by strategy among several that are ready", [cold(node("b", 9)), ...ranked.slice(1)], "c"],
    [
      "the first by strategy among the cold, if no ready one waits",
      [cold(node("b")), cold(node("c", 1))],
      "c",
    ],
  ])("%s", (_, waiters, winner) => {
    const ranked = withPolicy(vacant, PRIORITY);
    expect(look(ranked, 0, ...waiters)).toMatchObject({ waiter: { candidate: { nodeId: winner } } });
  });

  test("a cold candidate that nothing holds back, though a banned one is ready", () => {
    const banned = { ...vacant, bans: [{ nodeId: "b", leftMs: 100 }] };
    expect(look(banned, 0, node("b"), cold(node("c")))).toMatchObject({
      waiter: { candidate: { nodeId: "c" } },
    });
  });

  test("the reserved successor even if it is cold: readiness never refuses a win", () => {
    const transfer = { toNodeId: "b", leftMs: 100, ready: true, by: null };
    expect(look({ ...vacant, transfer }, 0, node("c"), cold(node("b")))).toMatchObject({
      waiter: { candidate: { nodeId: "b" } },
    });
  });

  test("nobody where nobody waits", () => {
    expect(bestWaiter(vacant, waitersOf([]))).toBeNull();
  });

  test("not one who is banned: the next is taken", () => {
    const banned = withPolicy({ ...vacant, bans: [{ nodeId: "c", leftMs: 100 }] }, PRIORITY);
    expect(bestWaiter(banned, waitersOf(ranked))?.candidate.nodeId).toBe("d");
    expect(look(banned, 100, ...ranked)).toMatchObject({ waiter: { candidate: { nodeId: "c" } } });
  });

  test("the successor alone while a transfer lasts, whatever its priority", () => {
    const transfer = { toNodeId: "e", leftMs: 100, ready: true, by: null };
    const reserved = withPolicy({ ...vacant, transfer }, PRIORITY);
    expect(bestWaiter(reserved, waitersOf(ranked))?.candidate.nodeId).toBe("e");
    expect(look(reserved, 40, node("b", 9))).toEqual({ kind: "rest", lookAgainMs: 60 });
    expect(look(reserved, 100, node("b", 9))).toMatchObject({ kind: "campaign" });
  });

  test("nobody while the group is paused, and there is nothing to look for until it is resumed", () => {
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

  test("the first whose mark runs out is looked at again then", () => {
    const bans = [
      { nodeId: "b", leftMs: 900 },
      { nodeId: "c", leftMs: 300 },
    ];
    expect(look({ ...vacant, bans }, 100, ...equals)).toEqual({ kind: "rest", lookAgainMs: 200 });
  });
});

describe("a holder that waits", () => {
  test("campaigns again, because only a write of its own gives it the lease", () => {
    const again = node("a");
    expect(look(led, 100, node("b"), again)).toMatchObject({
      kind: "campaign",
      waiter: { candidate: again },
    });
  });

  test("is known by node and instance", () => {
    expect(look(led, 100, node("a", 0, "i2"), node("a", 0, null))).toMatchObject({ kind: "rest" });
  });

  test("does not once it is deposed", () => {
    expect(look({ ...led, deposed: { by: "o" } }, 100, node("a"))).toMatchObject({ kind: "rest" });
  });
});

describe("transfer", () => {
  const transfer = { toNodeId: "b", leftMs: 400, ready: false, by: "operator" };
  const asked = { ...led, transfer };

  test("the leader is told only once the successor is known to wait: by a mark, without an event", () => {
    expect(look(asked, 100, node("c"), node("b"))).toEqual({
      kind: "write",
      next: { ...asked, holdMs: 910, transfer: { ...transfer, leftMs: 300, ready: true } },
      events: [],
    });
  });

  test("not while the successor does not wait here", () => {
    expect(look(asked, 100, node("c"))).toEqual({ kind: "rest", lookAgainMs: 300 });
  });

  test("not while the successor that waits is cold, unless the operator has allowed that", () => {
    expect(look(asked, 100, cold(node("b")))).toEqual({ kind: "rest", lookAgainMs: 300 });
    expect(look(asked, 100, cold(node("b")), node("b", 0, "i2"))).toMatchObject({ kind: "write" });
    const allowed = { ...asked, transfer: { ...transfer, allowCold: true as const } };
    expect(look(allowed, 100, cold(node("b")))).toMatchObject({
      kind: "write",
      next: { transfer: { ready: true, allowCold: true } },
    });
  });

  test("once", () => {
    const ready = { ...asked, transfer: { ...transfer, ready: true } };
    expect(look(ready, 100, node("b"))).toEqual({ kind: "rest", lookAgainMs: 300 });
  });

  test("a leader is no longer asked to yield to a successor that has left; what an operator asked for stands", () => {
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

  test("not after its limit, nor for a leader already deposed", () => {
    expect(look(asked, 400, node("b"))).toEqual({ kind: "rest", lookAgainMs: 610 });
    expect(look({ ...asked, deposed: { by: "o" } }, 100, node("b"))).toMatchObject({ kind: "rest" });
  });
});

describe("preemption", () => {
  const preemptible = withPolicy(led, { strategy: "priority", preempt: true });

  test("a waiting candidate of higher priority is marked as the successor, ready, with a limit", () => {
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

  test("by the highest of the ready candidates, and not by a cold one of higher priority", () => {
    expect(look(preemptible, 100, cold(node("b", 9)), node("c", 5))).toMatchObject({
      next: { transfer: { toNodeId: "c" } },
    });
    expect(look(preemptible, 100, cold(node("b", 9)), node("c", 0))).toMatchObject({ kind: "rest" });
  });

  test.each<[string, ElectionRecord, Holder | Arrival]>([
    ["one that is cold", preemptible, cold(node("b", 9))],
    ["one of equal priority", preemptible, node("b", 0)],
    ["one of lower priority", preemptible, node("b", -1)],
    ["anyone where the policy does not preempt", withPolicy(led, PRIORITY), node("b", 9)],
    ["anyone while the group is paused", { ...preemptible, pause: { leftMs: null } }, node("b", 9)],
    ["one who is banned", { ...preemptible, bans: [{ nodeId: "b", leftMs: 9_000 }] }, node("b", 9)],
    [
      "one who is not allowed",
      { ...preemptible, config: { policy: preemptible.config!.policy, allowedNodes: ["a"] } },
      node("b", 9),
    ],
    ["anyone once the leader is deposed", { ...preemptible, deposed: { by: "o" } }, node("b", 9)],
    [
      "anyone while another transfer lasts",
      { ...preemptible, transfer: { toNodeId: "z", leftMs: 9_000, ready: false, by: "o" } },
      node("b", 9),
    ],
  ])("not by %s", (_, record, challenger) => {
    expect(look(record, 100, challenger)).toMatchObject({ kind: "rest" });
  });

  test("is asked for anew when a leader has let the limit pass", () => {
    const transfer = { toNodeId: "b", leftMs: 200, ready: true, by: null };
    expect(look({ ...preemptible, transfer }, 200, node("b", 9))).toMatchObject({
      kind: "write",
      next: { transfer: { leftMs: YIELD_MS } },
    });
  });
});
