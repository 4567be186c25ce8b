import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../policy.js";
import type { EndReason } from "../event.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import type { Claim } from "./claim.js";
import { decideResign, type ResignDecision } from "./resign.js";

const holder: Holder = { nodeId: "a", instanceId: "i1", ttlMs: 1_000, priority: 0, metadata: null };
const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder, holdMs: 1_010, eventNumber: 9 };
const own: Claim = { nodeId: "a", term: 7, instanceId: "i1" };

function resign(record: ElectionRecord, claim: Claim, ageMs = 0): ResignDecision {
  return decideResign({ record, ageMs }, claim, { wallMs: 55 });
}

function endedBy(reason: EndReason): ElectionRecord {
  const ended = { term: 7, nodeId: "a", instanceId: "i1", reason };
  return { ...led, term: 8, holder: { ...holder, nodeId: "b" }, ended };
}

describe("decideResign", () => {
  test("a resign ends the term at once, with a vacancy and one event", () => {
    expect(resign(led, own, 10)).toEqual({
      kind: "resign",
      next: {
        ...led,
        holder: null,
        holdMs: 0,
        ended: { term: 7, nodeId: "a", instanceId: "i1", reason: "resigned" },
        eventNumber: 10,
        events: [
          {
            number: 10,
            type: "LEADER_LOST",
            term: 7,
            leaderNodeId: null,
            previousLeaderNodeId: "a",
            reason: "resigned",
            tsMs: 55,
          },
        ],
      },
      events: [expect.objectContaining({ number: 10 })],
    });
  });

  test("a resign leaves no takeover delay, not even for an expired lease", () => {
    const policy = { ...DEFAULT_POLICY, takeoverDelayMs: 500 };
    const resting = { ...led, config: { policy, allowedNodes: null } };
    expect(resign(resting, own)).toMatchObject({ next: { delayMs: 0 } });
    expect(resign(resting, own, 5_000)).toMatchObject({
      kind: "resign",
      next: { delayMs: 0, ended: { reason: "resigned" } },
    });
  });

  test.each<[string, Claim]>([
    ["the node", { ...own, nodeId: "b" }],
    ["the term, if older", { ...own, term: 6 }],
    ["the term, if newer", { ...own, term: 8 }],
    ["the instance, if sent", { ...own, instanceId: "i2" }],
  ])("a resign is refused unless these match: %s", (_, claim) => {
    expect(resign(led, claim)).toEqual({ kind: "not-leader", holder });
  });

  test("a resign without an instance id matches any instance, and one with an id does not match a holder without one", () => {
    expect(resign(led, { ...own, instanceId: null })).toMatchObject({ kind: "resign" });
    expect(resign({ ...led, holder: { ...holder, instanceId: null } }, own)).toMatchObject({
      kind: "not-leader",
    });
  });

  test("a deposed leader may resign, and its term ends as deposed by the operator", () => {
    expect(resign({ ...led, deposed: { by: "operator" } }, own)).toMatchObject({
      kind: "resign",
      next: { holder: null, deposed: null, ended: { reason: "deposed" } },
      events: [{ type: "LEADER_LOST", reason: "deposed", by: "operator" }],
    });
  });

  test("another node's resign in a deposed leader's group is NOT_LEADER, and the answer names no leader", () => {
    const deposed = { ...led, deposed: { by: "operator" } };
    expect(resign(deposed, { ...own, nodeId: "b" })).toEqual({ kind: "not-leader", holder: null });
  });

  test("the holder of a paused group may resign, and the pause stays", () => {
    expect(resign({ ...led, pause: { leftMs: 500 } }, own, 100)).toMatchObject({
      kind: "resign",
      next: { holder: null, pause: { leftMs: 400 } },
    });
  });

  test("a resign for a waiting successor ends the term as transferred, and the transfer lasts on", () => {
    const transfer = { toNodeId: "b", leftMs: 2_000, ready: true, by: "operator" };
    expect(resign({ ...led, transfer }, own, 500)).toMatchObject({
      next: { transfer: { ...transfer, leftMs: 1_500 }, ended: { reason: "transferred" } },
      events: [{ reason: "transferred", by: "operator" }],
    });
  });

  test("a resign for a successor not known to wait is a plain resignation and reserves nothing", () => {
    const transfer = { toNodeId: "b", leftMs: 2_000, ready: false, by: "operator" };
    const decision = resign({ ...led, transfer }, own, 500);
    expect(decision).toMatchObject({
      next: { transfer: null, ended: { reason: "resigned" } },
    });
    expect(decision).not.toHaveProperty("events.0.by");
  });

  test("a vacancy is reserved for a successor for two seconds at most, whatever is left of the transfer", () => {
    const transfer = { toNodeId: "b", leftMs: 60_000, ready: true, by: "operator" };
    expect(resign({ ...led, transfer }, own, 500)).toMatchObject({
      next: { transfer: { ...transfer, leftMs: 2_000 } },
    });
  });

  test("a resign after the limit of a transfer is a plain resignation", () => {
    const transfer = { toNodeId: "b", leftMs: 2_000, ready: true, by: "operator" };
    const decision = resign({ ...led, holdMs: 9_000, transfer }, own, 2_000);
    expect(decision).toMatchObject({ next: { transfer: null, ended: { reason: "resigned" } } });
    expect(decision).not.toHaveProperty("events.0.by");
  });
});

describe("decideResign, repeated after a lost answer", () => {
  test.each<EndReason>(["resigned", "deposed", "transferred"])(
    "a repeated resign of a term that ended as %s is answered ok",
    (reason) => {
      expect(resign(endedBy(reason), own)).toEqual({ kind: "already-resigned" });
      expect(resign(endedBy(reason), { ...own, instanceId: null })).toEqual({ kind: "already-resigned" });
    },
  );

  test("a repeated resign of an expired term is NOT_LEADER with the current leader", () => {
    expect(resign(endedBy("expired"), own)).toMatchObject({ kind: "not-leader", holder: { nodeId: "b" } });
  });

  test.each<[string, Claim]>([
    ["another node", { ...own, nodeId: "c" }],
    ["another term", { ...own, term: 6 }],
    ["another instance", { ...own, instanceId: "i2" }],
  ])("a repeated resign by %s is NOT_LEADER", (_, claim) => {
    expect(resign(endedBy("resigned"), claim)).toMatchObject({ kind: "not-leader" });
  });

  test("a repeated resign with an instance id of a term that had none is NOT_LEADER", () => {
    const record = endedBy("resigned");
    const ended = { term: 7, nodeId: "a", instanceId: null, reason: "resigned" as const };
    expect(resign({ ...record, ended }, own)).toMatchObject({ kind: "not-leader" });
    expect(resign({ ...record, ended }, { ...own, instanceId: null })).toMatchObject({
      kind: "already-resigned",
    });
  });

  test("a resign of an unknown group is NOT_LEADER", () => {
    expect(resign(EMPTY_RECORD, own)).toEqual({ kind: "not-leader", holder: null });
  });
});
