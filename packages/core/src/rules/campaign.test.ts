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

describe("decideCampaign: winning", () => {
  test("a campaign wins a group that was never led, with term 1", () => {
    const candidate = node("a", "i1", { priority: 3, metadata: { zone: "x" } });
    expect(campaign(EMPTY_RECORD, candidate)).toMatchObject({
      kind: "elect",
      next: { term: 1, holder: candidate, holdMs: 1_010, eventNumber: 1 },
      events: [{ number: 1, type: "LEADER_CHANGED", leaderNodeId: "a", reason: "none", tsMs: 1_234 }],
    });
  });

  test("a campaign wins a vacancy with term + 1 and hold = ⌈ttl·(1+ρ)⌉", () => {
    expect(campaign(vacant, node("b", "i1", { ttlMs: 501 }))).toMatchObject({
      kind: "elect",
      next: { term: 8, holder: { nodeId: "b" }, holdMs: 507 },
    });
  });

  test("a campaign wins an expired lease once its age has reached the hold, in one write with its end", () => {
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

  test("a campaign loses against another node's running lease, and the answer has the holder and the time left", () => {
    expect(campaign(led, node("b"), 10.00005)).toEqual({
      kind: "lose",
      holder: led.holder,
      heldBack: null,
      leftMs: 1_000,
    });
  });

  test("a campaign wins a deleted group with the next term", () => {
    expect(campaign({ ...vacant, deleted: true }, node("b"))).toMatchObject({
      kind: "elect",
      next: { term: 8, deleted: false },
    });
  });
});

describe("decideCampaign: confirmation", () => {
  test("the holder's own instance is confirmed: same term, no event, and the lease starts again", () => {
    expect(campaign(led, node("a"), 400)).toEqual({
      kind: "confirm",
      next: { ...led, holdMs: 1_010 },
      events: [],
    });
  });

  test("a confirmation stores the new ttl, priority and metadata of the holder", () => {
    const again = node("a", "i1", { ttlMs: 2_000, priority: 9, metadata: { v: 2 } });
    expect(campaign(led, again)).toMatchObject({ kind: "confirm", next: { holder: again, holdMs: 2_020 } });
  });

  test("the holder is confirmed until its lease is ended, even after the lease has expired", () => {
    expect(campaign(led, node("a"), 1e6)).toMatchObject({
      kind: "confirm",
      next: { term: 7, holdMs: 1_010 },
    });
  });

  test("a confirmation cannot shorten the lease: hold = max(new, hold − age)", () => {
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
  ])("instance ids, %s: %s holds, %s campaigns: %s", (_, holds, asks, kind) => {
    expect(campaign({ ...led, holder: node("a", holds) }, node("a", asks)).kind).toBe(kind);
  });

  test("another node with the holder's instance id is not confirmed", () => {
    expect(campaign(led, node("b", "i1"))).toMatchObject({ kind: "lose" });
  });

  test("another instance of the holder's node wins an expired lease with the next term", () => {
    expect(campaign(led, node("a", "i2"), 1_010)).toMatchObject({ kind: "elect", next: { term: 8 } });
  });
});

describe("decideCampaign: a deposed holder", () => {
  const deposed = { ...led, deposed: { by: "operator" } };

  test("a deposed holder is not confirmed, and its lease is not extended", () => {
    expect(campaign(deposed, node("a"), 10)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "deposed",
      leftMs: 1_000,
    });
  });

  test("a deposed holder keeps all candidates from winning until its hold is over", () => {
    expect(campaign(deposed, node("b"), 1_009)).toMatchObject({ kind: "lose", holder: null, leftMs: 1 });
    expect(campaign(deposed, node("b"), 1_010)).toMatchObject({
      kind: "elect",
      events: [{ reason: "deposed", by: "operator" }, { reason: "deposed" }],
      next: { deposed: null },
    });
  });

  test("a deposed holder leaves no takeover delay behind", () => {
    const resting = withPolicy(deposed, { takeoverDelayMs: 500 });
    expect(campaign(resting, node("b"), 1_010)).toMatchObject({ kind: "elect", next: { delayMs: 0 } });
  });

  test("a deposed holder may win again with a new term after its hold, unless it is banned", () => {
    expect(campaign(deposed, node("a"), 1_010)).toMatchObject({ kind: "elect", next: { term: 8 } });
  });
});

describe("decideCampaign: takeover delay", () => {
  const resting = withPolicy(led, { takeoverDelayMs: 500 });

  test("with a takeover delay an expiry is always written as a vacancy first", () => {
    const decision = campaign(resting, node("b"), 1_010);
    expect(decision).toMatchObject({
      kind: "expire",
      next: { term: 7, holder: null, holdMs: 0, delayMs: 500, ended: { reason: "expired" } },
      events: [{ type: "LEADER_LOST", reason: "expired" }],
    });
  });

  test("no candidate wins before the takeover delay has been seen to pass, and then any may", () => {
    const vacancy = { ...withPolicy(vacant, { takeoverDelayMs: 500 }), delayMs: 500 };
    expect(campaign(vacancy, node("a"), 499)).toEqual({
      kind: "lose",
      holder: null,
      heldBack: "takeover_delay",
      leftMs: 1,
    });
    expect(campaign(vacancy, node("a"), 500)).toMatchObject({ kind: "elect", next: { term: 8, delayMs: 0 } });
  });

  test("the holder is confirmed until the vacancy of its expired lease is written", () => {
    expect(campaign(resting, node("a"), 5_000)).toMatchObject({ kind: "confirm" });
  });
});

describe("decideCampaign: bans, transfers and pauses", () => {
  test("a banned node does not win while its ban lasts, and other nodes do", () => {
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

  test("while a transfer lasts only the successor may win, even after the leader has resigned", () => {
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

  test("a transfer has no effect after its time limit", () => {
    expect(campaign({ ...vacant, transfer }, node("c"), 2_000)).toMatchObject({
      kind: "elect",
      next: { transfer: null },
    });
  });

  test("a transfer has no effect after an expiry", () => {
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

  test("while a group is paused no candidate wins, neither a vacancy nor an expired lease", () => {
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

  test("while a group is paused its holder is confirmed", () => {
    expect(campaign({ ...led, pause: { leftMs: null } }, node("a"), 400)).toMatchObject({
      kind: "confirm",
      next: { holdMs: 1_010, pause: { leftMs: null } },
    });
  });
});

describe("decideCampaign: the policy of the group", () => {
  const bounded = withPolicy(vacant, { minTtlMs: 600, maxTtlMs: 900 });

  test.each([
    [599, "invalid-ttl"],
    [600, "elect"],
    [900, "elect"],
    [901, "invalid-ttl"],
  ])("a campaign with a ttl of %i where 600 to 900 is allowed: %s", (ttlMs, kind) => {
    expect(campaign(bounded, node("b", "i1", { ttlMs })).kind).toBe(kind);
  });

  test("a refused ttl comes with its bounds, which are 500 to 60000 by default", () => {
    expect(campaign(bounded, node("b"))).toEqual({ kind: "invalid-ttl", minTtlMs: 600, maxTtlMs: 900 });
    expect(campaign(EMPTY_RECORD, node("b", "i1", { ttlMs: 499 }))).toEqual({
      kind: "invalid-ttl",
      minTtlMs: 500,
      maxTtlMs: 60_000,
    });
  });

  test("the ttl bounds apply to a confirmation too", () => {
    const lowered = withPolicy(led, { maxTtlMs: 900 });
    expect(campaign(lowered, node("a"))).toMatchObject({ kind: "invalid-ttl" });
  });

  test("only allowed nodes win, and every node without a list of allowed nodes", () => {
    const closed = { ...vacant, config: { policy: DEFAULT_POLICY, allowedNodes: ["b"] } };
    expect(campaign(closed, node("c"))).toEqual({ kind: "not-allowed" });
    expect(campaign(closed, node("b"))).toMatchObject({ kind: "elect" });
    const nobody = { ...vacant, config: { policy: DEFAULT_POLICY, allowedNodes: [] } };
    expect(campaign(nobody, node("b"))).toEqual({ kind: "not-allowed" });
  });
});
