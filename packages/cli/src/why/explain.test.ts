import {
  DEFAULT_POLICY,
  type EndReason,
  type Group,
  type LeadershipEvent,
  type Member,
  type OperatorAct,
} from "@tenure/core";
import { describe, expect, it } from "vitest";
import { explain } from "./explain.js";

const START = Date.UTC(2026, 0, 1, 12);

/** `a` leads from second 0, and so on: each entry is one event. */
function story(
  ...told: readonly (readonly [number, string, EndReason | "wins", string?])[]
): LeadershipEvent[] {
  let term = 0;
  let previous: string | null = null;
  let reason: EndReason | "none" = "none";
  return told.map(([second, nodeId, what, by], index) => {
    const isWin = what === "wins";
    if (isWin) term++;
    else reason = what;
    const event: LeadershipEvent = {
      number: index + 1,
      type: isWin ? "LEADER_CHANGED" : "LEADER_LOST",
      term,
      leaderNodeId: isWin ? nodeId : null,
      previousLeaderNodeId: isWin ? previous : nodeId,
      reason,
      tsMs: START + second * 1000,
      ...(by === undefined ? {} : { by }),
    };
    if (!isWin) previous = nodeId;
    return event;
  });
}

function group(leader: string | null, term: number, more: Partial<Group> = {}): Group {
  return {
    groupId: "g",
    explicit: false,
    policy: DEFAULT_POLICY,
    allowedNodes: null,
    leader: leader === null ? null : { nodeId: leader, term, expiresAtMs: 0 },
    term,
    pausedForMs: null,
    heldBack: null,
    pause: null,
    bans: [],
    leaseTtlMs: 5000,
    ...more,
  };
}

function told(
  group_: Group,
  events: readonly LeadershipEvent[],
  second: number,
  members: readonly Member[] = [],
  most = 5,
  acts: readonly OperatorAct[] = [],
): string[] {
  return explain({ group: group_, events, acts, members, nowMs: START + second * 1000 }, most);
}

describe("why a group is led", () => {
  it("why names each earlier leader, how its term ended, and how long the group was vacant", () => {
    const events = story(
      [0, "a", "wins"],
      [60, "a", "expired"],
      [63, "b", "wins"],
      [70, "b", "deposed", "jane"],
      [70, "c", "wins"],
    );
    expect(told(group("c", 3), events, 80)).toEqual([
      "c leads g in term 3 since 2026-01-01 12:01:10Z (10s ago).",
      "c took over at once.",
      "b led in term 2 for 7s, from 2026-01-01 12:01:03Z; then it was asked to step down, requested by jane.",
      "b won 3s after a stopped leading.",
      "a led in term 1 for 1m, from 2026-01-01 12:00:00Z; then its lease expired: it did not renew in time, because it crashed, was frozen or lost its connection.",
      "Before that g had no leader: term 1 is its first.",
    ]);
  });

  it("why goes back as many terms as requested", () => {
    const events = story(
      [0, "a", "wins"],
      [1, "a", "resigned"],
      [2, "b", "wins"],
      [3, "b", "resigned"],
      [4, "c", "wins"],
    );
    const sentences = told(group("c", 3), events, 5, [], 2);
    expect(sentences.at(-1)).toContain("b led in term 2");
    expect(sentences.join(" ")).not.toContain("a led");
  });

  it("why says where the kept events begin", () => {
    const events = story([0, "a", "wins"], [1, "a", "resigned"], [2, "b", "wins"]).slice(1);
    expect(told(group("b", 2), events, 5).slice(-2)).toEqual([
      "a led in term 1; then it resigned.",
      "Before that g had no leader: term 1 is its first.",
    ]);
    const later = story(
      [0, "x", "wins"],
      [1, "x", "resigned"],
      [2, "a", "wins"],
      [3, "a", "resigned"],
      [4, "b", "wins"],
    ).slice(2);
    expect(told(group("b", 3), later, 5).at(-1)).toBe("Older events are no longer stored.");
  });

  it("why mentions a pause, during which the leader stays", () => {
    const paused = group("a", 1, { pausedForMs: "until-resumed" });
    expect(told(paused, story([0, "a", "wins"]), 1)[1]).toBe(
      "The group is paused until resumed. Its leader may stay, no other node can win.",
    );
  });

  it("why counts a failover from the last sign of the old leader, not from the end of its lease", () => {
    const events = story([0, "a", "wins"], [60, "a", "expired"], [60.4, "b", "wins"]).map((event) =>
      event.type === "LEADER_LOST" ? { ...event, silentMs: 12_000 } : event,
    );
    expect(told(group("b", 2), events, 70)[1]).toBe(
      "b took over; no node may have acted for up to 12.4s, since a was last heard from.",
    );
    expect(told(group(null, 1), events.slice(0, 2), 63).slice(0, 2)).toEqual([
      "g has had no leader since 2026-01-01 12:01:00Z (3s ago).",
      "No node may have acted for up to 15s.",
    ]);
  });

  it("why names the operator, the reason and the time of a pause, a ban and a step-down", () => {
    const events = story([0, "a", "wins"], [70, "a", "deposed", "jane"], [71, "b", "wins"]);
    const acts: OperatorAct[] = [
      {
        number: 1,
        act: "step-down",
        by: "jane",
        reason: "disk",
        tsMs: START + 70_000,
        term: 1,
        nodeId: "a",
        forMs: 300_000,
        force: true,
      },
      { number: 2, act: "pause", by: "joe", reason: null, tsMs: START + 80_000, term: 2 },
      {
        number: 3,
        act: "update",
        by: "joe",
        reason: "tighter",
        tsMs: START + 81_000,
        term: 2,
        changes: ["max_ttl_ms: 60000 -> 30000"],
      },
    ];
    const held = group("b", 2, {
      pausedForMs: "until-resumed",
      pause: { by: "joe", reason: null, sinceMs: START + 80_000 },
      bans: [{ nodeId: "a", forMs: 60_000, by: "jane", reason: "disk" }],
    });
    const sentences = told(held, events, 90, [], 5, acts);
    expect(sentences).toContain(
      "The group is paused until resumed, by joe since 2026-01-01 12:01:20Z. Its leader may stay, no other node can win.",
    );
    expect(sentences).toContain('Banned: a for another 1m, by jane: "disk".');
    expect(sentences.join("\n")).toContain('then it was asked to step down, requested by jane: "disk".');
    expect(sentences.slice(-4)).toEqual([
      "Last acts of operators:",
      '  2026-01-01 12:01:21Z: joe changed the group (max_ttl: 1m -> 30s): "tighter".',
      "  2026-01-01 12:01:20Z: joe paused the group.",
      '  2026-01-01 12:01:10Z: jane asked the leader to step down, a with a ban of 5m, by force: "disk".',
    ]);
  });
});

it("why says that a leader was asked to step down and has not yet", () => {
  const deposed = group("a", 1, { heldBack: { by: "deposed", forMs: 4000 } });
  expect(told(deposed, story([0, "a", "wins"]), 1)[1]).toBe(
    "It was asked to step down and can no longer renew: the group is free when it resigns, or in 4s when its lease expires.",
  );
});

describe("why a group is not led", () => {
  const events = story([0, "a", "wins"], [60, "a", "expired"]);

  it("why says that no node ever campaigned", () => {
    expect(told(group(null, 0), [], 0)).toEqual([
      "g has no leader and never had one.",
      "It has no candidates: no node campaigned in the last 30 seconds.",
    ]);
  });

  it("why says that the group is paused", () => {
    expect(told(group(null, 1, { pausedForMs: 90_000 }), events, 61)[1]).toBe(
      "The group is paused for another 1m30s. No node can win; end the pause with tenure resume g.",
    );
  });

  it("why says that the group waits for its takeover delay", () => {
    const policy = { ...DEFAULT_POLICY, takeoverDelayMs: 5000 };
    const resting = group(null, 1, { policy, heldBack: { by: "takeover_delay", forMs: 3000 } });
    expect(told(resting, events, 62)[1]).toBe(
      "Its takeover delay is 5s after a lease expires; it ends in 3s.",
    );
    expect(told(group(null, 1, { policy }), events, 66)[1]).toContain("It has no candidates");
  });

  it("why says that the group is being transferred", () => {
    const reserved = group(null, 1, { heldBack: { by: "reserved", forMs: 9000 } });
    expect(told(reserved, events, 62)[1]).toBe(
      "A transfer is in progress: for 9s only its successor can win.",
    );
  });

  it("why names candidates that were seen", () => {
    const members: Member[] = [{ nodeId: "b", role: "candidate", ready: true, lastHeartbeatMs: START }];
    expect(told(group(null, 1), events, 62, members)[1]).toContain("Recent candidates: b");
  });
});
