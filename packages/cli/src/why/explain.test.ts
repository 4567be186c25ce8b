import { DEFAULT_POLICY, type EndReason, type Group, type LeadershipEvent, type Member } from "@tenure/core";
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
): string[] {
  return explain({ group: group_, events, members, nowMs: START + second * 1000 }, most);
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
      "c leads g in term 3 since 2026-01-01 12:01:10Z (10 s ago).",
      "c took over at once.",
      "b led in term 2 for 7 s, from 2026-01-01 12:01:03Z; then it was asked to step down, requested by jane.",
      "b won 3 s after a stopped leading.",
      "a led in term 1 for 1 min, from 2026-01-01 12:00:00Z; then its lease expired: it did not renew in time, because it crashed, was frozen or lost its connection.",
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
      "The group is paused until it is resumed: its leader may stay, no other node can win.",
    );
  });
});

it("why says that a leader was asked to step down and has not yet", () => {
  const deposed = group("a", 1, { heldBack: { by: "deposed", forMs: 4000 } });
  expect(told(deposed, story([0, "a", "wins"]), 1)[1]).toBe(
    "It was asked to step down and can no longer renew: the group is free when it resigns, or in 4 s when its lease expires.",
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
      "The group is paused for another 1 min 30 s, so no node can win; end the pause with tenure resume g.",
    );
  });

  it("why says that the group waits for its takeover delay", () => {
    const policy = { ...DEFAULT_POLICY, takeoverDelayMs: 5000 };
    const resting = group(null, 1, { policy, heldBack: { by: "takeover_delay", forMs: 3000 } });
    expect(told(resting, events, 62)[1]).toBe(
      "Its takeover delay is 5 s after a lease expires; it ends in 3 s.",
    );
    expect(told(group(null, 1, { policy }), events, 66)[1]).toContain("It has no candidates");
  });

  it("why says that the group is being transferred", () => {
    const reserved = group(null, 1, { heldBack: { by: "reserved", forMs: 9000 } });
    expect(told(reserved, events, 62)[1]).toBe(
      "A transfer is in progress: for 9 s only its successor can win.",
    );
  });

  it("why names candidates that were seen", () => {
    const members: Member[] = [{ nodeId: "b", role: "candidate", ready: true, lastHeartbeatMs: START }];
    expect(told(group(null, 1), events, 62, members)[1]).toContain("Recent candidates: b");
  });
});
