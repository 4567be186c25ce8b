import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY, type GroupPolicy } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import { type CampaignDecision, decideCampaign } from "./campaign.js";

const STAMP = { wallMs: 1_234 };
const RHO = 0.01;

function node(nodeId: string, instanceId: string | null = "i1", more: Partial<Holder> = {}): Holder {
  return { nodeId, instanceId, ttlMs: 1_000, priority: 0, metadata: null, ...more };
}

const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder: node("a"), holdMs: 1_010 };
const vacant: ElectionRecord = {
  ...EMPTY_RECORD,
  term: 7,
  ended: { term: 7, nodeId: "a", instanceId: "i1", reason: "resigned" },
};

function campaign(record: ElectionRecord, candidate: Holder, ageMs = 0): CampaignDecision {
  return decideCampaign({ record, ageMs }, candidate, RHO, STAMP);
}

function withPolicy(record: ElectionRecord, policy: Partial<GroupPolicy>): ElectionRecord {
  return { ...record, config: { policy: { ...DEFAULT_POLICY, ...policy }, allowedNodes: null } };
}

describe("a campaign wins", () => {
  test("a group never led: term 1", () => {
    const candidate = node("a", "i1", { priority: 3, metadata: { zone: "x" } });
    expect(campaign(EMPTY_RECORD, candidate)).toMatchObject({
      kind: "elect",
      next: { term: 1, holder: candidate, holdMs: 1_010, eventNumber: 1 },
      events: [{ number: 1, type: "LEADER_CHANGED", leaderNodeId: "a", reason: "none", tsMs: 1_234 }],
    });
  });

  test("a vacancy: term + 1, hold = ⌈ttl·(1+ρ)⌉", () => {
    expect(campaign(vacant, node("b", "i1", { ttlMs: 501 }))).toMatchObject({
      kind: "elect",
      next: { term: 8, holder: { nodeId: "b" }, holdMs: 507 },
    });
  });

  test("a lease that is over, when the age has reached the hold: the end and the beginning in one write", () => {
    expect(campaign(led, node("b"), 1_009.999)).toMatchObject({ kind: "lose" });
    expect(campaign(led, node("b"), 1_010)).toMatchObject({
      kind: "elect",
      next: { term: 8, holder: { nodeId: "b" }, holdMs: 1_010, ended: { term: 7, reason: "expired" } },
      events: [
        { number: 1, type: "LEADER_LOST", term: 7, reason: "expired" },
        { number: 2, type: "LEADER_CHANGED", term: 8, reason: "expired", previousLeaderNodeId: "a" },
      ],
    });
  });

  test("against anyone else's running lease never: it waits, and is told who leads and for how long", () => {
    expect(campaign(led, node("b"), 10.00005)).toEqual({
      kind: "lose",
      holder: led.holder,
      heldBack: null,
      leftMs: 1_000,
    });
  });

  test("a deleted group, at the next term", () => {
    expect(campaign({ ...vacant, deleted: true }, node("b"))).toMatchObject({
      kind: "elect",
      next: { term: 8, deleted: false },
    });
  });
});

describe("the same node and the same instance", () => {
  test("is confirmed: same term, no event, and the lease starts anew", () => {
    expect(campaign(led, node("a"), 400)).toEqual({
      kind: "confirm",
      next: { ...led, holdMs: 1_010 },
      events: [],
    });
  });

  test("is confirmed with what it says of itself now", () => {
    const again = node("a", "i1", { ttlMs: 2_000, priority: 9, metadata: { v: 2 } });
    expect(campaign(led, again)).toMatchObject({ kind: "confirm", next: { holder: again, holdMs: 2_020 } });
  });

  test("is confirmed as long as nobody has ended its lease, even when that is over", () => {
    expect(campaign(led, node("a"), 1e6)).toMatchObject({
      kind: "confirm",
      next: { term: 7, holdMs: 1_010 },
    });
  });

  test("cannot shorten its lease: hold = max(new, hold − age)", () => {
    expect(campaign(led, node("a", "i1", { ttlMs: 500 }), 100)).toMatchObject({
      kind: "confirm",
      next: { holdMs: 910 },
    });
    expect(campaign(led, node("a", "i1", { ttlMs: 500 }), 900)).toMatchObject({ next: { holdMs: 505 } });
  });

  test.each([
    ["another instance of the node", "i1", "i2", "lose"],
    ["a missing instance and a given one", "i1", null, "lose"],
    ["a given instance and a missing one", null, "i1", "lose"],
    ["a missing instance and a missing one", null, null, "confirm"],
    ["a given instance and the same", "i1", "i1", "confirm"],
  ])("%s: %s holds, %s asks: %s", (_, holds, asks, kind) => {
    expect(campaign({ ...led, holder: node("a", holds) }, node("a", asks)).kind).toBe(kind);
  });

  test("another node with the same instance is somebody else", () => {
    expect(campaign(led, node("b", "i1"))).toMatchObject({ kind: "lose" });
  });

  test("another instance of the holder's node wins a lease that is over, at the next term", () => {
    expect(campaign(led, node("a", "i2"), 1_010)).toMatchObject({ kind: "elect", next: { term: 8 } });
  });
});

describe("a deposed holder", () => {
  const deposed = { ...led, deposed: { by: "operator" } };

  test("is not confirmed, and its lease is not extended", () => {
    expect(campaign(deposed, node("a"), 10)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "deposed",
      leftMs: 1_000,
    });
  });

  test("holds everybody back until its hold is over", () => {
    expect(campaign(deposed, node("b"), 1_009)).toMatchObject({ kind: "lose", holder: null, leftMs: 1 });
    expect(campaign(deposed, node("b"), 1_010)).toMatchObject({
      kind: "elect",
      events: [{ reason: "deposed", by: "operator" }, { reason: "deposed" }],
      next: { deposed: null },
    });
  });

  test("leaves no takeover delay behind", () => {
    const resting = withPolicy(deposed, { takeoverDelayMs: 500 });
    expect(campaign(resting, node("b"), 1_010)).toMatchObject({ kind: "elect", next: { delayMs: 0 } });
  });

  test("may win again after its hold, unless it is banned: with a new term", () => {
    expect(campaign(deposed, node("a"), 1_010)).toMatchObject({ kind: "elect", next: { term: 8 } });
  });
});

describe("takeover delay", () => {
  const resting = withPolicy(led, { takeoverDelayMs: 500 });

  test("after an expiry the vacancy is always written first, with the delay left", () => {
    const decision = campaign(resting, node("b"), 1_010);
    expect(decision).toMatchObject({
      kind: "expire",
      next: { term: 7, holder: null, holdMs: 0, delayMs: 500, ended: { reason: "expired" } },
      events: [{ type: "LEADER_LOST", reason: "expired" }],
    });
  });

  test("nobody wins before it has been seen to pass, and then anybody may", () => {
    const vacancy = { ...withPolicy(vacant, { takeoverDelayMs: 500 }), delayMs: 500 };
    expect(campaign(vacancy, node("a"), 499)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "takeover_delay",
      leftMs: 1,
    });
    expect(campaign(vacancy, node("a"), 500)).toMatchObject({ kind: "elect", next: { term: 8, delayMs: 0 } });
  });

  test("the holder itself is confirmed as long as the vacancy is not written", () => {
    expect(campaign(resting, node("a"), 5_000)).toMatchObject({ kind: "confirm" });
  });
});

describe("marks", () => {
  test("a banned node does not win while the ban lasts; others do", () => {
    const banned = { ...vacant, bans: [{ nodeId: "a", leftMs: 300 }] };
    expect(campaign(banned, node("a", "i2"), 100)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "banned",
      leftMs: 200,
    });
    expect(campaign(banned, node("b"), 100)).toMatchObject({
      kind: "elect",
      next: { bans: [{ nodeId: "a", leftMs: 200 }] },
    });
    expect(campaign(banned, node("a"), 300)).toMatchObject({ kind: "elect", next: { bans: [] } });
  });

  const transfer = { toNodeId: "b", leftMs: 2_000, ready: true, by: null };

  test("while a transfer lasts only the successor may win, also after the leader has resigned", () => {
    const reserved = { ...vacant, transfer };
    expect(campaign(reserved, node("c"), 500)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "reserved",
      leftMs: 1_500,
    });
    expect(campaign(reserved, node("a"), 500)).toMatchObject({ kind: "lose", heldBack: "reserved" });
    expect(campaign(reserved, node("b"), 500)).toMatchObject({ kind: "elect", next: { transfer: null } });
  });

  test("after its limit a transfer is as if never asked", () => {
    expect(campaign({ ...vacant, transfer }, node("c"), 2_000)).toMatchObject({
      kind: "elect",
      next: { transfer: null },
    });
  });

  test("after an expiry a transfer is as if never asked", () => {
    const dead = { ...led, holdMs: 100, transfer };
    expect(campaign(dead, node("c"), 100)).toMatchObject({ kind: "elect", next: { transfer: null } });
    expect(campaign(withPolicy(dead, { takeoverDelayMs: 50 }), node("c"), 100)).toMatchObject({
      kind: "expire",
      next: { transfer: null },
    });
  });

  test("a transfer does not let the successor win a running lease", () => {
    expect(campaign({ ...led, transfer }, node("b"), 500)).toMatchObject({ kind: "lose", leftMs: 510 });
  });

  test("a transfer does not keep the leader from being confirmed", () => {
    expect(campaign({ ...led, transfer }, node("a"), 500)).toMatchObject({
      kind: "confirm",
      next: { transfer: { ...transfer, leftMs: 1_500 } },
    });
  });

  test("while paused no one wins, neither a vacancy nor a lease that is over", () => {
    expect(campaign({ ...vacant, pause: { leftMs: 400 } }, node("b"), 100)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "paused",
      leftMs: 300,
    });
    expect(campaign({ ...led, pause: { leftMs: null } }, node("b"), 1e9)).toMatchObject({
      kind: "expire",
      next: { holder: null, term: led.term },
    });
    expect(campaign({ ...vacant, pause: { leftMs: 400 } }, node("b"), 400)).toMatchObject({ kind: "elect" });
  });

  test("while paused the holder is confirmed", () => {
    expect(campaign({ ...led, pause: { leftMs: null } }, node("a"), 400)).toMatchObject({
      kind: "confirm",
      next: { holdMs: 1_010, pause: { leftMs: null } },
    });
  });
});

describe("the policy of the group", () => {
  const bounded = withPolicy(vacant, { minTtlMs: 600, maxTtlMs: 900 });

  test.each([
    [599, "invalid-ttl"],
    [600, "elect"],
    [900, "elect"],
    [901, "invalid-ttl"],
  ])("a ttl of %i where 600 to 900 are admitted: %s", (ttlMs, kind) => {
    expect(campaign(bounded, node("b", "i1", { ttlMs })).kind).toBe(kind);
  });

  test("names its bounds; 500 to 60000 where no operator has set any", () => {
    expect(campaign(bounded, node("b"))).toEqual({ kind: "invalid-ttl", minTtlMs: 600, maxTtlMs: 900 });
    expect(campaign(EMPTY_RECORD, node("b", "i1", { ttlMs: 499 }))).toEqual({
      kind: "invalid-ttl",
      minTtlMs: 500,
      maxTtlMs: 60_000,
    });
  });

  test("binds a confirmation too", () => {
    const lowered = withPolicy(led, { maxTtlMs: 900 });
    expect(campaign(lowered, node("a"))).toMatchObject({ kind: "invalid-ttl" });
  });

  test("only allowed nodes win; without a list, every node", () => {
    const closed = { ...vacant, config: { policy: DEFAULT_POLICY, allowedNodes: ["b"] } };
    expect(campaign(closed, node("c"))).toEqual({ kind: "not-allowed" });
    expect(campaign(closed, node("b"))).toMatchObject({ kind: "elect" });
    const nobody = { ...vacant, config: { policy: DEFAULT_POLICY, allowedNodes: [] } };
    expect(campaign(nobody, node("b"))).toEqual({ kind: "not-allowed" });
  });
});
