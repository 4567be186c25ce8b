/** What a coordinator reports about its children, its leadership and itself. */
import type { Logger } from "@tenure/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ClusterHealth } from "../health/cluster-health.js";
import { PollOrchestrator } from "../polls/poll-orchestrator.js";
import { functionChild } from "../supervisor/function-child.js";
import { Cluster } from "./cluster.test-kit.js";
import { CoordinatorCandidate } from "./coordinator-candidate.js";

let cluster: Cluster;
beforeEach(() => {
  cluster = new Cluster();
});
afterEach(async () => {
  await cluster.close();
  vi.restoreAllMocks();
});

/** A child that crashes as often as given, and then runs. */
function crashing(times: number): ReturnType<typeof functionChild> {
  let left = times;
  return functionChild("work", async ({ signal }) => {
    if (left-- > 0) throw new Error("no database");
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
    });
  });
}

function recording(): { logger: Logger; lines: [string, object, string][] } {
  const lines: [string, object, string][] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push([level, fields, message]);
  return { logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

describe("reports about a child of the coordinator", () => {
  test("a child that crashes and is restarted is reported with its error, in events and in the log", async () => {
    const { logger, lines } = recording();
    cluster.node("a", { children: [crashing(1)], logger });
    await cluster.clock.advance(100);
    const child = { node: "a", term: 1, child: "work" };
    expect(cluster.events("child_started")).toEqual([child]);
    expect(cluster.events("child_crashed")).toEqual([{ ...child, error: "no database" }]);
    expect(cluster.events("child_restarted")).toEqual([{ ...child, error: "no database" }]);
    const warnings = lines.filter(([level]) => level === "warn");
    expect(warnings).toEqual([
      [
        "warn",
        {
          ...child,
          group: "coordinator",
          err: expect.objectContaining({ message: "no database" }) as unknown,
        },
        "child crashed",
      ],
    ]);
  });

  test("a child that cannot be kept alive ends the leadership as children-failed, and the error is logged", async () => {
    const { logger, lines } = recording();
    cluster.node("a", { children: [crashing(1000)], logger });
    await cluster.clock.advance(3000);
    expect(cluster.events("lost_leadership")).toEqual([{ node: "a", reason: "children-failed" }]);
    expect(cluster.events("child_crashed")).toHaveLength(4);
    expect(lines).toContainEqual([
      "error",
      expect.objectContaining({
        child: "work",
        err: expect.objectContaining({
          cause: expect.objectContaining({ message: "no database" }) as unknown,
        }) as unknown,
      }),
      "children failed; the leadership is resigned",
    ]);
  });

  test("a child that crashes is reported on stderr without a logger", async () => {
    const written: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
    cluster.node("a", { children: [crashing(1)], logger: undefined });
    await cluster.clock.advance(100);
    expect(written.join("")).toMatch(/^tenure: child crashed .*"child":"work".*no database/s);
  });

  test("a child that crashes is restarted although the logger throws", async () => {
    const bad = (): never => {
      throw new Error("disk full");
    };
    const { candidate } = cluster.node("a", {
      children: [crashing(1)],
      logger: { debug: bad, info: bad, warn: bad, error: bad },
      election: { logger: recording().logger },
    });
    await cluster.clock.advance(100);
    expect(candidate.running).toEqual(["work"]);
    expect(candidate.isCoordinator()).toBe(true);
  });

  test("a child that is stuck is named on stderr, with what to do, before the process exits with code 70", async () => {
    const written: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
    const exit = vi.spyOn(process, "exit").mockImplementation((() => written.push("exit")) as never);
    let end = (): void => {};
    const deaf = functionChild("deaf", () => new Promise<void>((resolve) => (end = resolve)));
    const { candidate } = cluster.node("a", { children: [deaf], onStuck: undefined });
    await cluster.clock.advance(100);
    const stopped = candidate.stop();
    await cluster.clock.advance(6000);
    end();
    await stopped;
    expect(exit).toHaveBeenCalledWith(70);
    expect(written[0]).toMatch(/^tenure: .*deaf.*context\.signal.*processChild or workerChild.*onStuck.*\n$/);
    expect(written[1]).toBe("exit");
  });
});

describe("reports of a candidate", () => {
  test("a candidate that crashes is reported in the log with its error", async () => {
    const { logger, lines } = recording();
    cluster.node("b", { ttlMs: 200, logger });
    await cluster.clock.advance(60_000);
    const failure = expect.objectContaining({ code: "INVALID_TTL" }) as unknown;
    expect(lines).toContainEqual([
      "warn",
      { node: "b", group: "coordinator", err: failure },
      "candidate crashed",
    ]);
  });

  test("a candidate passes its logger to its election, unless that has its own", async () => {
    const [own, one] = [recording(), recording()];
    cluster.node("a", { logger: one.logger });
    cluster.node("b", { logger: one.logger, election: { logger: own.logger } });
    await cluster.clock.advance(100);
    expect(
      one.lines.some(([, fields]) => (fields as { correlationId?: unknown }).correlationId !== undefined),
    ).toBe(true);
    expect(own.lines.length).toBeGreaterThan(0);
  });

  test("a candidate refuses a logger that lacks a method, when it is constructed", () => {
    const make = () =>
      new CoordinatorCandidate({ elector: {} as never, nodeId: "a", children: [], logger: {} as Logger });
    expect(make).toThrow("logger must have the methods debug, info, warn and error");
  });

  test("a candidate does not report a change when the same leader leads again", async () => {
    const times = { takeoverDelayMs: 1000, ttlMs: 2000 };
    const a = cluster.node("a", times);
    await cluster.clock.advance(100);
    cluster.node("b", times);
    await cluster.clock.advance(2000);
    a.clock.pause();
    await cluster.clock.advance(2500);
    a.clock.resume();
    await cluster.clock.advance(20_000);
    expect(a.log.at(-1)).toBe("start 2");
    expect(cluster.events("leader_changed")).toEqual([{ node: "b", previous_leader: null, new_leader: "a" }]);
  });

  test("a stopping candidate does not report itself as a leader that is down", async () => {
    const { candidate } = cluster.node("a");
    await cluster.clock.advance(100);
    const stopped = candidate.stop();
    await cluster.clock.advance(1000);
    await stopped;
    expect(cluster.events("lost_leadership")).toEqual([{ node: "a", reason: "stopped" }]);
    expect(cluster.events("leader_down")).toEqual([]);
  });

  test("start() resolves when the first campaign was answered, and returns the same promise each time", async () => {
    const { candidate } = cluster.node("a");
    let started = false;
    const first = candidate.start();
    void first.then(() => (started = true));
    expect(candidate.start()).toBe(first);
    await Promise.resolve();
    expect(started).toBe(false);
    await cluster.clock.advance(100);
    expect(started).toBe(true);
    await cluster.node("c", { eligible: false }).candidate.start();
  });

  test("start() rejects with the reason if the candidate fails for good before an answer", async () => {
    const { candidate } = cluster.node("b", { ttlMs: 200 });
    await cluster.clock.advance(60_000);
    await expect(candidate.start()).rejects.toMatchObject({ cause: { code: "INVALID_TTL" } });
  });

  test("ended() can be awaited before the candidate has started", async () => {
    const node = { elector: cluster.elector(), nodeId: "z", children: [], clock: cluster.clock };
    const candidate = new CoordinatorCandidate(node);
    let end: unknown = null;
    void candidate.ended().then((value) => (end = value));
    await cluster.clock.advance(100);
    expect(end).toBe(null);
    await candidate.stop();
    await cluster.clock.advance(0);
    expect(end).toEqual({ kind: "stopped" });
  });
});

describe("a coordinator whose lease has expired", () => {
  test("a coordinator whose lease has expired is unhealthy for its successor, and gets no polls", async () => {
    const { clock } = cluster;
    const polled: string[] = [];
    const changes: string[] = [];
    const elector = cluster.elector();
    const health = new ClusterHealth({
      elector,
      groupId: "coordinator",
      clock,
      changed: ({ nodeId, to, reason }) => changes.push(`${nodeId} ${to}: ${reason}`),
    });
    const polls = new PollOrchestrator({
      polls: Array.from({ length: 20 }, (_, index) => ({ name: `p${index}`, intervalMs: 1000 })),
      members: () => health.healthy,
      dispatch: async ({ memberId }) => polled.push(memberId),
      clock,
      random: () => 0,
    });
    const a = cluster.node("a", { ttlMs: 2000 });
    await clock.advance(100);
    const b = cluster.node("b", { ttlMs: 2000, children: [health.child(), polls.child()] });
    await clock.advance(7000);
    a.clock.kill();
    await clock.advance(8000);
    expect(b.candidate.isCoordinator()).toBe(true);
    expect(polled.length).toBeGreaterThan(0);
    expect(new Set(polled)).toEqual(new Set(["b"]));
    expect(changes).toContain("a suspect: its lease expired");
    await elector.close();
  });
});
