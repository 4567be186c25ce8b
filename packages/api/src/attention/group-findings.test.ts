import { describe, expect, it } from "vitest";
import type { Loss } from "./flapping.js";
import { candidatesOf, type GroupFacts, groupFindings, groupState } from "./group-findings.js";

const NOW = Date.UTC(2026, 5, 1);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A led group with a standby: nothing needs attention. */
const CALM: GroupFacts = {
  groupId: "g",
  explicit: false,
  allowedNodes: null,
  term: 3,
  leaderNodeId: "a",
  lease: { leftMs: 9000, ttlMs: 10_000 },
  heldBack: null,
  pause: null,
  candidates: 1,
  aloneSinceMs: null,
  knownSinceMs: null,
  lastEnd: null,
  losses: [],
};
const VACANT = { ...CALM, leaderNodeId: null, lease: null, candidates: 0 };
const ended = (reason: Loss["reason"], agoMs: number): GroupFacts["lastEnd"] => ({
  reason,
  nodeId: "a",
  tsMs: NOW - agoMs,
});
const losses = (count: number, everyMs: number, agoMs = 0, reason: Loss["reason"] = "expired"): Loss[] =>
  Array.from({ length: count }, (_, index) => ({
    reason,
    tsMs: NOW - agoMs - (count - 1 - index) * everyMs,
  }));
const pause = (sinceMs: number | null, forMs: number | "until-resumed" = "until-resumed") => ({
  forMs,
  by: "jane",
  reason: "migration",
  sinceMs,
});

function found(facts: Partial<GroupFacts>, of: GroupFacts = CALM): string[] {
  return groupFindings({ ...of, ...facts }, NOW).map(({ kind, severity }) => `${kind} ${severity}`);
}

describe("the findings about a group", () => {
  it.each<[string, Partial<GroupFacts>, string[]]>([
    ["led, with a standby", {}, []],
    ["whose leader has a third of its lease left", { lease: { leftMs: 3400, ttlMs: 10_000 } }, []],
    [
      "whose leader has less than a third of its lease left",
      { lease: { leftMs: 3300, ttlMs: 10_000 } },
      ["missed_heartbeats warning"],
    ],
    ["led without a standby", { candidates: 0 }, ["no_standby note"]],
    ["led without a standby since a moment", { candidates: 0, aloneSinceMs: NOW - 29 * SECOND }, []],
    ["that lost seven leases within the hour", { losses: losses(7, 8 * MINUTE) }, ["flapping problem"]],
    ["that lost six leases within the hour", { losses: losses(6, SECOND) }, []],
    ["that lost seven leases within two hours", { losses: losses(7, 20 * MINUTE) }, []],
    ["that flapped and is calm since two minutes", { losses: losses(9, SECOND, 2 * MINUTE) }, []],
    ["whose leaders resigned seven times", { losses: losses(7, SECOND, 0, "resigned") }, []],
    ["whose leaders resigned 25 times", { losses: losses(25, MINUTE, 0, "resigned") }, ["flapping warning"]],
    ["paused for a while", { pause: pause(NOW - MINUTE, 9000) }, []],
    ["paused until resumed since a moment", { pause: pause(NOW - MINUTE) }, ["paused_long note"]],
    ["paused until resumed for an hour", { pause: pause(NOW - HOUR) }, ["paused_long warning"]],
    ["paused for a while, an hour ago", { pause: pause(NOW - HOUR, 9000) }, ["paused_long warning"]],
  ])("a group %s has the expected findings", (_, facts, expected) => {
    expect(found(facts)).toEqual(expected);
  });

  it.each<[string, Partial<GroupFacts>, string, string[]]>([
    ["since 1.9 s", { lastEnd: ended("expired", 1900) }, "vacant", []],
    ["since 2 s", { lastEnd: ended("expired", 2000) }, "vacant", ["vacant problem"]],
    ["after a resignation", { lastEnd: ended("resigned", HOUR) }, "idle", []],
    [
      "after a resignation, created by an operator",
      { lastEnd: ended("resigned", HOUR), explicit: true },
      "vacant",
      ["vacant problem"],
    ],
    [
      "after a resignation, with a waiting candidate",
      { lastEnd: ended("resigned", HOUR), candidates: 1 },
      "vacant",
      ["vacant problem"],
    ],
    ["since two days", { lastEnd: ended("expired", 48 * HOUR) }, "idle", []],
    ["and paused for an hour", { pause: pause(NOW - HOUR) }, "held_back", ["paused_long problem"]],
    [
      "in its takeover delay",
      { heldBack: "takeover_delay", lastEnd: ended("expired", HOUR) },
      "held_back",
      [],
    ],
    ["deposed", { heldBack: "deposed", leaderNodeId: "a" }, "held_back", []],
    ["and never had one", { term: 0 }, "idle", []],
    ["and never had one since it was created", { term: 0, explicit: true }, "idle", ["vacant note"]],
    [
      "and was created a moment ago",
      { term: 0, explicit: true, knownSinceMs: NOW - 59 * SECOND },
      "idle",
      [],
    ],
  ])("a group without a leader %s has the expected state and findings", (_, facts, state, expected) => {
    expect(groupState({ ...VACANT, ...facts }, NOW)).toBe(state);
    expect(found(facts, VACANT)).toEqual(expected);
  });

  it("in a vacancy only candidates count that were seen since it began", () => {
    const seen = (role: "candidate" | "observer", agoMs: number) => ({ role, lastHeartbeatMs: NOW - agoMs });
    const members = [seen("candidate", 20_000), seen("candidate", 1000), seen("observer", 1000)];
    expect(candidatesOf(members, null)).toBe(2);
    expect(candidatesOf(members, NOW - 5000)).toBe(1);
  });

  it("the rate of a flapping group is that of the time which its losses span, not of an hour", () => {
    const [finding] = groupFindings({ ...CALM, losses: losses(25, 2200) }, NOW);
    expect(finding?.summary).toBe(
      "is flapping: its last 25 changes of leader took 52s (1636 per hour), mostly because leases expired",
    );
    expect(finding?.sinceMs).toBe(NOW - 24 * 2200);
  });

  it("a pause is reported with its author, its reason and its age", () => {
    const [finding] = groupFindings({ ...CALM, pause: pause(NOW - HOUR) }, NOW);
    expect(finding?.summary).toBe(
      "is paused until resumed, for 1h now, by jane (migration); no candidate could take over from a",
    );
    expect(finding?.nextStep).toContain("tenure resume g");
  });

  it("a vacancy is reported with its age, how the last term ended, and the nodes to start", () => {
    const facts = { ...VACANT, lastEnd: ended("expired", 42_500), allowedNodes: ["a", "b"] };
    expect(groupFindings(facts, NOW)).toEqual([
      {
        kind: "vacant",
        severity: "problem",
        groupId: "g",
        sinceMs: NOW - 42_500,
        summary: "has had no leader for 42s: the lease of a expired, and no candidate has taken over",
        nextStep: "start a, b, or delete the group: tenure groups delete g",
      },
    ]);
  });
});
