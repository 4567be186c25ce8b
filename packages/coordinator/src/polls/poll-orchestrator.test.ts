import { Random, VirtualClock } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import { Supervisor } from "../supervisor/supervisor.js";
import {
  type Dispatch,
  PollOrchestrator,
  type PollOrchestratorOptions,
  type PollResult,
} from "./poll-orchestrator.js";
import { PollGate } from "./poll-gate.js";

class Office {
  readonly clock = new VirtualClock();
  readonly random = new Random(3);
  readonly sent: (Omit<Dispatch, "signal"> & { atMs: number })[] = [];
  readonly results: PollResult[] = [];
  members: readonly string[] = ["m1", "m2", "m3"];
  leaseEndsAtMs: number = Number.POSITIVE_INFINITY;

  /** The orchestrator of one term; returns the function that ends it. */
  lead(term: number, options: Partial<PollOrchestratorOptions>): () => Promise<void> {
    const orchestrator = new PollOrchestrator({
      polls: [{ name: "disks", intervalMs: 1000 }],
      members: () => this.members,
      dispatch: async ({ poll, memberId, term: sentTerm }) => {
        this.sent.push({ poll, memberId, term: sentTerm, atMs: this.clock.monotonicMs() });
        return "fine";
      },
      recorded: (result) => this.results.push(result),
      clock: this.clock,
      random: () => this.random.next(),
      ...options,
    });
    const stopping = new AbortController();
    const supervisor = new Supervisor({ children: [orchestrator.child()], clock: this.clock });
    const lease = { leftMs: () => this.leaseEndsAtMs - this.clock.monotonicMs() };
    const ended = supervisor.run(term, stopping.signal, lease);
    return async () => {
      stopping.abort();
      await this.clock.advance(0);
      await ended;
    };
  }
}

describe("PollOrchestrator", () => {
  test("PollOrchestrator polls at its interval plus jitter, always through the same healthy member", async () => {
    const office = new Office();
    const stop = office.lead(1, { polls: [{ name: "disks", intervalMs: 1000, jitter: 0.2 }] });
    await office.clock.advance(60_000);
    const gaps = office.sent.slice(1).map(({ atMs }, index) => atMs - (office.sent[index]?.atMs ?? 0));
    expect(office.sent.length).toBeGreaterThanOrEqual(50);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1200);
    expect(new Set(office.sent.map(({ memberId }) => memberId)).size).toBe(1);
    await stop();
    expect(office.results.every(({ outcome }) => outcome.kind === "ok")).toBe(true);
  });

  test("a poll moves to another member when its member is unhealthy, and is recorded if no member is left", async () => {
    const office = new Office();
    const stop = office.lead(1, {});
    await office.clock.advance(5000);
    const first = office.sent.at(-1)?.memberId;
    office.members = office.members.filter((member) => member !== first);
    await office.clock.advance(5000);
    const second = office.sent.at(-1)?.memberId;
    expect(second).not.toBe(first);
    office.members = [];
    await office.clock.advance(5000);
    expect(office.results.at(-1)).toMatchObject({ memberId: null, outcome: { kind: "nobody" } });
    await stop();
  });

  test("a poll that takes too long is abandoned and recorded, and so is one that fails", async () => {
    const office = new Office();
    const aborted: boolean[] = [];
    const stop = office.lead(1, {
      polls: [
        { name: "hangs", intervalMs: 1000, timeoutMs: 300 },
        { name: "fails", intervalMs: 1000 },
      ],
      dispatch: ({ poll, signal }) => {
        if (poll === "fails") throw new Error("no route");
        signal.addEventListener("abort", () => aborted.push(true));
        return new Promise(() => {});
      },
    });
    await office.clock.advance(2500);
    const hung = office.results.find(({ poll }) => poll === "hangs");
    expect(hung).toMatchObject({ outcome: { kind: "timed-out" }, durationMs: 300 });
    expect(aborted).not.toEqual([]);
    const failed = office.results.find(({ poll }) => poll === "fails");
    expect(failed).toMatchObject({ outcome: { kind: "failed", error: { message: "no route" } } });
    await stop();
  });

  test("no poll runs twice in one interval when the leadership moves, whenever it does", async () => {
    const office = new Office();
    for (let term = 1; term <= 40; term++) {
      const stop = office.lead(term, { polls: [{ name: "disks", intervalMs: 1000, jitter: 0.1 }] });
      await office.clock.advance(500 + 3000 * office.random.next());
      await stop();
    }
    const gaps = office.sent.slice(1).map(({ atMs }, index) => atMs - (office.sent[index]?.atMs ?? 0));
    expect(gaps.length).toBeGreaterThan(20);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
  });

  test("a new coordinator that knows the time of the last run continues with the interval", async () => {
    const office = new Office();
    const stop = office.lead(2, {
      polls: [{ name: "disks", intervalMs: 1000, jitter: 0 }],
      lastRunAgeMs: async () => 400,
    });
    await office.clock.advance(600);
    expect(office.sent.map(({ atMs }) => atMs)).toEqual([600]);
    await stop();
  });

  test("a poll that cannot continue ends the others, so that none runs twice when all start again", async () => {
    const office = new Office();
    let failures = 1;
    const stop = office.lead(1, {
      polls: [
        { name: "disks", intervalMs: 1000, jitter: 0 },
        { name: "links", intervalMs: 1500, jitter: 0 },
      ],
      recorded: ({ poll }) => {
        if (poll === "links" && failures-- > 0) throw new Error("no room for results");
      },
    });
    await office.clock.advance(20_000);
    await stop();
    const atMs = office.sent.filter(({ poll }) => poll === "disks").map((each) => each.atMs);
    const gaps = atMs.slice(1).map((each, index) => each - (atMs[index] ?? 0));
    expect(atMs.length).toBeGreaterThan(15);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
  });

  test("no poll is dispatched when the lease is over by the clock, even before the signal", async () => {
    const office = new Office();
    office.leaseEndsAtMs = 2500;
    const stop = office.lead(1, { polls: [{ name: "disks", intervalMs: 1000, jitter: 0 }] });
    await office.clock.advance(10_000);
    expect(office.sent.map(({ atMs }) => atMs)).toEqual([1000, 2000]);
    await stop();
  });

  test("PollGate refuses a late poll of a replaced coordinator by its term", () => {
    const gate = new PollGate();
    expect(gate.admit(3)).toBe(true);
    expect(gate.admit(3)).toBe(true);
    expect(gate.admit(4)).toBe(true);
    expect(gate.admit(3)).toBe(false);
    expect(gate.admit(Number.NaN)).toBe(false);
    expect(gate.highestTerm).toBe(4);
  });

  test("PollGate learns from the group's watch that a term is over before the next coordinator dispatches", () => {
    const gate = new PollGate();
    gate.observe({ term: 3, leaderNodeId: "a" });
    expect(gate.admit(2)).toBe(false);
    expect(gate.admit(3)).toBe(true);
    gate.observe({ term: 3, leaderNodeId: null });
    expect(gate.admit(3)).toBe(false);
    expect(gate.admit(4)).toBe(true);
    gate.observe({ term: 2, leaderNodeId: "late news" });
    expect(gate.highestTerm).toBe(4);
  });

  test.each([
    [{ dispatch: 1 }, "dispatch must be a function"],
    [{ polls: {} }, "polls must be a list"],
    [{ every: 1 }, "every is not known here"],
    [{ polls: [{ name: "a", intervalMs: 1, retries: 2 }] }, "polls[0].retries is not known here"],
  ])("PollOrchestrator refuses the options %j", (options, message) => {
    expect(() => new Office().lead(1, options as never)).toThrow(message);
  });

  test.each([
    [[{ name: "a", intervalMs: 0 }], "polls[0].intervalMs"],
    [
      [{ name: "a", intervalMs: 100, timeoutMs: 200 }],
      "polls[0].timeoutMs is 200 and must be at most intervalMs, which is 100",
    ],
    [[{ name: "", intervalMs: 100 }], "polls[0].name"],
    [
      [
        { name: "a", intervalMs: 1 },
        { name: "a", intervalMs: 1 },
      ],
      "polls name a twice",
    ],
  ])("PollOrchestrator refuses the polls %j", (polls, message) => {
    expect(() => new Office().lead(1, { polls })).toThrow(message);
  });
});
