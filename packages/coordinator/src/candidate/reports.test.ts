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

/** A child that crashes as often as it is told to, and then runs. */
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

describe("a child of the coordinator", () => {
  test("that crashes and is started again is reported with its error, in events and in the log", async () => {
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

  test("that cannot be kept alive makes the coordinator lose its leadership with the reason children-failed, and the error is logged", async () => {
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

  test("that crashes is reported on stderr where no logger is given", async () => {
    const written: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
    cluster.node("a", { children: [crashing(1)], logger: undefined });
    await cluster.clock.advance(100);
    expect(written.join("")).toMatch(/^tenure: child crashed .*"child":"work".*no database/s);
  });

  test("is started again although the logger throws", async () => {
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

  test("that is stuck is named on stderr, with what to do, before the process ends with code 70", async () => {
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

describe("a candidate", () => {
  test("that crashes is reported in the log with its error", async () => {
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

  test("passes its logger to the election underneath, unless that has its own", async () => {
    const [own, one] = [recording(), recording()];
    cluster.node("a", { logger: one.logger });
    cluster.node("b", { logger: one.logger, election: { logger: own.logger } });
    await cluster.clock.advance(100);
    expect(
      one.lines.some(([, fields]) => (fields as { correlationId?: unknown }).correlationId !== undefined),
    ).toBe(true);
    expect(own.lines.length).toBeGreaterThan(0);
  });

  test("refuses a logger that lacks a method, when it is made", () => {
    const make = () =>
      new CoordinatorCandidate({ elector: {} as never, nodeId: "a", children: [], logger: {} as Logger });
    expect(make).toThrow("logger must have the methods debug, info, warn and error");
  });

  test("does not report a change of the leader when the same one leads again", async () => {
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

  test("that stops does not report itself as a leader that is down", async () => {
    const { candidate } = cluster.node("a");
    await cluster.clock.advance(100);
    const stopped = candidate.stop();
    await cluster.clock.advance(1000);
    await stopped;
    expect(cluster.events("lost_leadership")).toEqual([{ node: "a", reason: "stopped" }]);
    expect(cluster.events("leader_down")).toEqual([]);
  });

  test("has a start that resolves when its first campaign was answered, and the same one each time", async () => {
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

  test("that fails for good before an answer rejects its start with the reason", async () => {
    const { candidate } = cluster.node("b", { ttlMs: 200 });
    await cluster.clock.advance(60_000);
    await expect(candidate.start()).rejects.toMatchObject({ cause: { code: "INVALID_TTL" } });
  });

  test("has an end that is waited for also before it has started", async () => {
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
  test("is not healthy for its successor, and is given no polls", async () => {
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
