import type { Group, LeadershipEvent, Member, WatchEvent } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, it } from "vitest";
import { GroupMonitor } from "./group-monitor.js";
import { inspected } from "./sight.test-kit.js";

const standby: Member = { nodeId: "b", role: "candidate", ready: true, lastHeartbeatMs: 0 };
const NO_MORE = { groups: [], last: null };

/** A monitor over groups that a test sets. */
class Watched {
  readonly clock = new VirtualClock();
  readonly reported: string[] = [];
  readonly #groups = new Map<string, ReturnType<typeof inspected>>();
  readonly monitor = new GroupMonitor({
    clock: this.clock.process(),
    inspector: {
      group: (groupId) => this.#groups.get(groupId) ?? null,
      after: (place) => (place === "" ? { groups: [...this.#groups.values()], last: "~" } : NO_MORE),
    },
    onChange: () => {},
    onFinding: ({ groupId, kind, severity }, change) =>
      this.reported.push(`${groupId ?? ""} ${kind} ${severity} ${change}`),
  });

  set(group: Partial<Group> & Pick<Group, "groupId">, members = [standby], events?: LeadershipEvent[]): void {
    this.#groups.set(group.groupId, inspected(group, members, events));
  }

  delete(groupId: string): void {
    this.#groups.delete(groupId);
  }

  lead(groupId: string, term: number): void {
    const leader = { nodeId: "a", term, expiresAtMs: this.clock.process().wallMs() + 3_600_000 };
    this.set({ groupId, term, leader, leaseTtlMs: 3_600_000 });
    this.#follow({ type: "LEADER_CHANGED", groupId, term, leaderNodeId: "a", reason: "none" });
  }

  lose(groupId: string, term: number, reason: WatchEvent["reason"] = "expired"): void {
    this.set({ groupId, term });
    this.#follow({ type: "LEADER_LOST", groupId, term, leaderNodeId: null, reason });
  }

  #follow(event: Pick<WatchEvent, "type" | "groupId" | "term" | "leaderNodeId" | "reason">): void {
    const tsMs = this.clock.process().wallMs();
    this.monitor.follow({ ...event, cursor: 0, previousLeaderNodeId: null, tsMs });
  }
}

describe("the monitor of groups", () => {
  it("a vacancy is counted at once, reported after two seconds, and over with the next leader", async () => {
    const watched = new Watched();
    watched.monitor.start();
    watched.lead("g", 1);
    watched.lead("h", 1);
    expect(watched.monitor.states).toMatchObject({ led: 2, vacant: 0 });
    watched.lose("g", 1);
    expect(watched.monitor.states).toMatchObject({ led: 1, vacant: 1 });
    expect(watched.reported).toEqual([]);
    await watched.clock.advance(3200);
    expect(watched.reported).toEqual(["g vacant problem started"]);
    expect(watched.monitor.countOf("vacant", "problem")).toBe(1);
    expect(watched.clock.process().wallMs() - (watched.monitor.oldestVacancySinceMs ?? 0)).toBe(3200);
    expect([...watched.monitor.presence()]).toEqual([
      ["g", false],
      ["h", true],
    ]);
    watched.lead("g", 2);
    expect(watched.reported.slice(1)).toEqual(["g vacant problem ended"]);
    expect(watched.monitor.states).toMatchObject({ led: 2, vacant: 0 });
    expect(watched.monitor.oldestVacancySinceMs).toBeNull();
    expect([...watched.monitor.findings()]).toEqual([]);
    watched.monitor.close();
  });

  it("a pause, which no event reports, is found by the next round", async () => {
    const watched = new Watched();
    watched.monitor.start();
    watched.set({ groupId: "g", pausedForMs: "until-resumed", explicit: true });
    await watched.clock.advance(1200);
    expect(watched.monitor.states).toMatchObject({ held_back: 1, paused: 1 });
    expect(watched.reported).toEqual(["g paused_long note started"]);
    await watched.clock.advance(15 * 60_000);
    expect(watched.reported.slice(1)).toEqual(["g paused_long note ended", "g paused_long problem started"]);
    watched.monitor.close();
  });

  it("seven lost leases within an hour are flapping, and a minute without a loss ends it", async () => {
    const watched = new Watched();
    watched.monitor.start();
    for (let term = 1; term <= 7; term++) {
      watched.lead("g", term);
      await watched.clock.advance(500);
      expect(watched.monitor.states.flapping).toBe(0);
      watched.lose("g", term);
    }
    expect(watched.monitor.states.flapping).toBe(1);
    watched.lead("g", 8);
    expect(watched.reported).toEqual(["g flapping problem started"]);
    await watched.clock.advance(62_000);
    expect(watched.reported.slice(1)).toEqual(["g flapping problem ended"]);
    expect(watched.monitor.states).toMatchObject({ led: 1, flapping: 0 });
    watched.monitor.close();
  });

  it("a restarted monitor reads from the histories which groups flap and since when they are vacant", async () => {
    const watched = new Watched();
    const nowMs = watched.clock.process().wallMs();
    const events = Array.from({ length: 8 }, (_, index): LeadershipEvent => ({
      number: index + 1,
      type: "LEADER_LOST",
      term: index + 1,
      leaderNodeId: null,
      previousLeaderNodeId: "a",
      reason: "expired",
      tsMs: nowMs - (8 - index) * 5000,
    }));
    watched.set({ groupId: "g", term: 8 }, [standby], events);
    watched.monitor.start();
    await watched.clock.advance(400);
    expect(watched.reported).toEqual(["g vacant problem started", "g flapping problem started"]);
    expect(watched.monitor.oldestVacancySinceMs).toBe(nowMs - 5000);
    watched.monitor.close();
  });

  it("a deleted group is no longer counted, and its findings are over", async () => {
    const watched = new Watched();
    watched.monitor.start();
    watched.lead("g", 1);
    watched.lead("h", 1);
    watched.lose("g", 1);
    await watched.clock.advance(3200);
    expect(watched.monitor.members).toBe(2);
    watched.delete("g");
    await watched.clock.advance(1200);
    expect(watched.monitor.states).toMatchObject({ led: 1, vacant: 0 });
    expect(watched.monitor.members).toBe(1);
    expect(watched.reported).toEqual(["g vacant problem started", "g vacant problem ended"]);
    watched.monitor.close();
  });
});
