import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import type { Claim } from "./claim.js";
import { decideRenew, type RenewDecision } from "./renew.js";

const holder: Holder = {
  nodeId: "a",
  instanceId: "i1",
  ttlMs: 1_000,
  priority: 2,
  metadata: { zone: "x" },
};
const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder, holdMs: 1_010, eventNumber: 3 };
const own: Claim = { nodeId: "a", term: 7, instanceId: "i1" };

function renew(record: ElectionRecord, claim: Claim, ageMs = 0, ttlMs = 1_000): RenewDecision {
  return decideRenew({ record, ageMs }, claim, ttlMs, 0.01);
}

describe("decideRenew", () => {
  test("a renewal sets a new hold and changes nothing else", () => {
    expect(renew(led, own, 700)).toEqual({ kind: "renew", next: led, events: [] });
  });

  test("a renewal takes the ttl it asks for, with the hold rounded up", () => {
    expect(renew(led, own, 700, 3_333)).toMatchObject({
      next: { holdMs: 3_367, holder: { ...holder, ttlMs: 3_333 } },
    });
  });

  test("a renewal never shortens a lease: hold = max(new, hold − age)", () => {
    expect(renew(led, own, 100, 500)).toMatchObject({ kind: "renew", next: { holdMs: 910 } });
    expect(renew(led, own, 504.5, 500)).toMatchObject({ next: { holdMs: 505.5 } });
    expect(renew(led, own, 505.5, 500)).toMatchObject({ next: { holdMs: 505 } });
  });

  test("a renewal is accepted until the lease is ended, even after the lease has expired", () => {
    expect(renew(led, own, 1e6)).toMatchObject({ kind: "renew", next: { term: 7, holdMs: 1_010 } });
  });

  test.each<[string, Claim]>([
    ["the node", { ...own, nodeId: "b" }],
    ["the term, if older", { ...own, term: 6 }],
    ["the term, if newer", { ...own, term: 8 }],
    ["the instance, if sent", { ...own, instanceId: "i2" }],
  ])("a renewal is refused unless these match: %s", (_, claim) => {
    expect(renew(led, claim)).toEqual({ kind: "not-leader", holder });
  });

  test("a renewal without an instance id matches any instance", () => {
    expect(renew(led, { ...own, instanceId: null })).toMatchObject({ kind: "renew", next: { holder } });
  });

  test("a renewal with an instance id does not match a holder without one", () => {
    const nameless = { ...led, holder: { ...holder, instanceId: null } };
    expect(renew(nameless, own)).toMatchObject({ kind: "not-leader" });
    expect(renew(nameless, { ...own, instanceId: null })).toMatchObject({ kind: "renew" });
  });

  test("a renewal of a vacant or unknown group is NOT_LEADER", () => {
    expect(renew({ ...led, holder: null, holdMs: 0 }, own)).toEqual({ kind: "not-leader", holder: null });
    expect(renew(EMPTY_RECORD, { ...own, term: 1 })).toEqual({ kind: "not-leader", holder: null });
  });

  test("a deposed leader cannot renew, and the answer names no leader", () => {
    const deposed = { ...led, deposed: { by: "o" } };
    expect(renew(deposed, own)).toEqual({ kind: "not-leader", holder: null });
    expect(renew(deposed, { ...own, nodeId: "b" })).toEqual({ kind: "not-leader", holder: null });
  });

  test("the holder of a paused group may renew", () => {
    expect(renew({ ...led, pause: { leftMs: null } }, own, 700)).toMatchObject({
      kind: "renew",
      next: { holdMs: 1_010, pause: { leftMs: null } },
    });
  });

  test("the leader may renew during a transfer, whose time limit runs on", () => {
    const transfer = { toNodeId: "b", leftMs: 800, ready: true, by: null };
    expect(renew({ ...led, transfer }, own, 300)).toMatchObject({
      kind: "renew",
      next: { holdMs: 1_010, transfer: { ...transfer, leftMs: 500 } },
    });
    expect(renew({ ...led, transfer }, own, 800)).toMatchObject({ next: { transfer: null } });
  });

  test.each([
    [599, "invalid-ttl"],
    [600, "renew"],
    [900, "renew"],
    [901, "invalid-ttl"],
  ])("a renewal is bound by the policy: a ttl of %i where 600 to 900 is allowed is %s", (ttlMs, kind) => {
    const policy = { ...DEFAULT_POLICY, minTtlMs: 600, maxTtlMs: 900 };
    const decision = renew({ ...led, config: { policy, allowedNodes: null } }, own, 0, ttlMs);
    expect(decision.kind).toBe(kind);
    if (decision.kind === "invalid-ttl") expect(decision).toMatchObject({ minTtlMs: 600, maxTtlMs: 900 });
  });

  test("a node that does not lead is answered NOT_LEADER, even if its ttl is out of bounds", () => {
    expect(renew(led, { ...own, term: 6 }, 0, 1)).toMatchObject({ kind: "not-leader" });
  });
});
