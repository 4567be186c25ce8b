import { BackendUnavailableError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NO_METRICS, type Logger } from "./telemetry.js";
import { StopTimeoutError } from "./errors.js";
import type { PromoteHook } from "./election.js";
import { LocalLease } from "./lease.js";
import { out, refused, silence } from "./scripted-elector.test-kit.js";
import type { ElectionEvent } from "./state.js";
import { failureOf, gate, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

/** Keeps the log as "level message". */
function logTo(lines: string[]): Logger {
  const at = (level: string) => (_fields: object, message: string) => void lines.push(`${level} ${message}`);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Fails 20 times, then lasts until its signal. Work that fails for ever stops virtual time in an election without backoff. */
function failing(called: () => void = () => {}): PromoteHook {
  let left = 20;
  return (_mandate, signal) => {
    called();
    left -= 1;
    if (left >= 0) throw new Error("no database");
    return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  };
}

describe("Work that fails", () => {
  test("work that fails before its signal aborts gives the leadership up, so that another node leads", async () => {
    const a = world.participant("a", { bare: true });
    const b = world.participant("b");
    const reasons: string[] = [];
    a.election.onPromote(failing());
    a.election.onDemote((reason) => reasons.push(reason));
    await a.election.start();
    await b.election.start();
    await world.clock.advance(10);
    expect(reasons).toEqual(["promote-failed"]);
    expect(b.election.isLeader()).toBe(true);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test("an election whose work fails campaigns again after a backoff that grows by the retry options", async () => {
    const a = world.scripted("a", {
      bare: true,
      retry: { initialBackoffMs: 100, maxBackoffMs: 800, jitter: 0 },
    });
    const promotedAtMs: number[] = [];
    a.election.onPromote(failing(() => promotedAtMs.push(a.clock.monotonicMs())));
    await a.election.start();
    await world.clock.advance(3000);
    expect(promotedAtMs.slice(0, 6)).toEqual([0, 100, 300, 700, 1500, 2300]);
    await world.until(a.election.stop());
  });

  test('work that fails with onPromoteFailure "keep" does not end the leadership', async () => {
    const a = world.participant("a", { bare: true, onPromoteFailure: "keep" });
    a.election.onPromote(() => Promise.reject(new Error("no database")));
    await a.election.start();
    await world.clock.advance(4000);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });
});

describe("Work that ignores its signal", () => {
  test("work that ignores its signal is reported by demoting at once, then repeatedly by work-overdue, a warning and a metric", async () => {
    const lines: string[] = [];
    const events: ElectionEvent[] = [];
    const overdue: number[] = [];
    const worked = gate();
    const a = world.scripted("a", {
      bare: true,
      logger: logTo(lines),
      metrics: { ...NO_METRICS, workOverdue: (_labels, seconds) => overdue.push(seconds) },
    });
    a.election.onPromote(() => worked.opened);
    for (const kind of ["demoting", "demoted", "work-overdue"] as const)
      a.election.on(kind, (event) => events.push(event));
    await a.election.start();
    a.elector.always(silence, "renew");
    await world.clock.advance(889);
    expect(events).toEqual([]);
    await world.clock.advance(1);
    expect(events).toMatchObject([{ kind: "demoting", reason: "lapsed", mandate: { term: 1 } }]);
    expect(lines).toContain("warn no longer leads; the work was asked to end");
    await world.clock.advance(99);
    expect(events.length).toBe(1);
    await world.clock.advance(1);
    expect(events[1]).toMatchObject({ kind: "work-overdue", overdueMs: 100, leaseLeftMs: 0 });
    await world.clock.advance(1400);
    expect(overdue).toEqual([0.1, 0.3, 0.7, 1.5]);
    expect(lines.filter((line) => line.startsWith("warn work ignores its signal")).length).toBe(4);
    expect(events.some(({ kind }) => kind === "demoted")).toBe(false);
    a.elector.mend();
    worked.open();
    await world.clock.advance(1);
    expect(overdue.at(-1)).toBe(0);
    expect(events.at(-1)).toMatchObject({ kind: "demoted", reason: "lapsed" });
    await world.until(a.election.stop());
  });

  test("work that ends within stopMarginMs of its signal is not reported as overdue", async () => {
    const overdue: number[] = [];
    const metrics = {
      ...NO_METRICS,
      workOverdue: (_labels: object, seconds: number) => overdue.push(seconds),
    };
    const a = world.scripted("a", { bare: true, metrics });
    a.election.onPromote(
      (_mandate, signal) =>
        new Promise<void>((resolve) => signal.addEventListener("abort", () => a.clock.after(90, resolve))),
    );
    await a.election.start();
    await world.until(a.election.stop());
    await world.clock.advance(5000);
    expect(overdue).toEqual([]);
  });
});

describe("A stop that takes too long", () => {
  test("a stop that takes too long names the work that has not ended", async () => {
    const a = world.scripted("a", { bare: true });
    a.election.onPromote(() => new Promise(() => {}));
    await a.election.start();
    const { value } = await world.until(failureOf(a.election.stop({ timeoutMs: 300 })));
    expect(value).toBeInstanceOf(StopTimeoutError);
    expect((value as Error).message).toContain("the work or onDemote of group g has not ended within 300 ms");
  });

  test("a stop that takes too long names the resignation once the work has ended, and so does the state", async () => {
    const a = world.scripted("a");
    await a.election.start();
    a.elector.always(silence, "resign");
    const { value } = await world.until(failureOf(a.election.stop({ timeoutMs: 300 })));
    expect((value as Error).message).toContain("the resignation of group g has not ended within 300 ms");
    expect(a.log).toEqual(["promote 1", "abort", "demote stopped"]);
    expect(a.election.status().state).toMatchObject({ kind: "resigning", reason: "stopped" });
    await world.clock.advance(2000);
    expect(a.election.status().state).toEqual({ kind: "stopped" });
  });
});

describe("The log of an election", () => {
  test("the log has the first of many failures with its cause, then a summary with their number, then the recovery", async () => {
    const lines: string[] = [];
    const a = world.scripted("a", { logger: logTo(lines), campaignWaitMs: 0 });
    a.elector.always(refused(new BackendUnavailableError("the store is out")), "campaign");
    await world.until(a.election.start());
    await world.clock.advance(16_000);
    const of = (part: string) => lines.filter((line) => line.includes(part));
    expect(of("request to the elector failed")[0]).toBe(
      "warn request to the elector failed: the store is out",
    );
    expect(of("request to the elector failed").length).toBe(2);
    expect(of("request to the elector failed")[1]).toMatch(/failed \d+ times: the store is out$/);
    a.elector.mend();
    await world.clock.advance(6000);
    expect(of("elector answers again").length).toBe(1);
    // A failure after an answer counts as a first failure again.
    a.elector.next("renew", refused(new BackendUnavailableError("the store is out")));
    await world.clock.advance(300);
    expect(of("request to the elector failed").slice(2)).toEqual([
      "warn request to the elector failed: the store is out",
    ]);
    await world.until(a.election.stop());
  });

  test("the log names each change: became leader, leader changed, group has no leader", async () => {
    const lines: string[] = [];
    const a = world.participant("a");
    const b = world.participant("b", { logger: logTo(lines) });
    await a.election.start();
    await b.election.start();
    await world.clock.advance(10);
    await world.until(a.election.stop());
    await world.clock.advance(10);
    await world.until(b.election.stop());
    const news = lines.filter((line) => line.startsWith("info ") && line.includes("leader"));
    expect(news).toEqual([
      "info leader changed",
      "info group has no leader",
      "info became leader",
      "info group has no leader",
    ]);
  });
});

describe("start", () => {
  test.each([
    ["says no", () => false],
    ["throws", () => Promise.reject(new Error("no database"))],
    ["never answers", () => new Promise<boolean>(() => {})],
  ])(
    "start resolves while the health check %s, and the election campaigns once it is healthy",
    async (_how, ill) => {
      let healthy = false;
      const a = world.participant("a", { healthChecker: () => (healthy ? true : ill()) });
      const { tookMs } = await world.until(a.election.start());
      expect(tookMs).toBeLessThanOrEqual(150);
      expect(a.election.status().state).toEqual({ kind: "unhealthy" });
      healthy = true;
      await world.clock.advance(400);
      expect(a.election.isLeader()).toBe(true);
      await world.until(a.election.stop());
    },
  );

  test("a health check that returns anything but a boolean counts as failed, with an error that says so", async () => {
    const errors: unknown[] = [];
    const a = world.participant("a", { healthChecker: () => ({ ok: true }) as never });
    a.election.on("health", ({ error }) => errors.push((error as Error).message));
    await world.until(a.election.start());
    expect(a.election.status().state).toEqual({ kind: "unhealthy" });
    expect(errors).toEqual(["healthChecker must return true or false, not object"]);
    await world.until(a.election.stop());
  });
});

describe("A renewer", () => {
  const heldOpen = { isOpen: true, close() {} };

  test("a renewer that cannot be opened rejects start() before any campaign", async () => {
    const open = () => Promise.reject(new Error("no such module"));
    const a = world.scripted("a", { renewer: Object.assign(() => ({}) as never, { open }) });
    expect(await failureOf(a.election.start())).toMatchObject({ message: "no such module" });
    expect(a.elector.made("campaign")).toEqual([]);
    expect(a.election.status().state).toMatchObject({ kind: "failed" });
  });

  test("a renewer that breaks while it leads ends the leadership as heart-failed, and the election backs off", async () => {
    const beginsAtMs: number[] = [];
    const lease = { isInside: () => true, leftMs: () => 900, end() {} };
    const a = world.scripted("a", {
      retry: { initialBackoffMs: 200, jitter: 0 },
      renewer: Object.assign(
        ({ broken }: { broken: (error: unknown) => void }) => ({
          lease,
          stop() {},
          start: () => {
            beginsAtMs.push(a.clock.monotonicMs());
            a.clock.after(50, () => broken(new Error("the thread died")));
            return true;
          },
        }),
        { open: () => Promise.resolve(heldOpen) },
      ),
    });
    await a.election.start();
    await world.clock.advance(1000);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote heart-failed"]);
    expect(beginsAtMs).toEqual([0, 250, 700]);
    await world.until(a.election.stop());
  });

  test("a renewer that never renews lets the lease expire, and the election backs off", async () => {
    const beginsAtMs: number[] = [];
    const a = world.scripted("a", {
      retry: { initialBackoffMs: 200, jitter: 0 },
      renewer: ({ renewal, won, clock, driftRatio }) => {
        const lease = new LocalLease(renewal.term, clock, driftRatio);
        const start = () => {
          beginsAtMs.push(clock.monotonicMs());
          return lease.extend(won);
        };
        return { lease, start, stop() {} };
      },
    });
    await a.election.start();
    await world.clock.advance(2500);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote lapsed"]);
    expect(beginsAtMs).toEqual([0, 890 + 200, 1090 + 890 + 400]);
    await world.until(a.election.stop());
  });

  test("a renewer that throws when it starts resigns the lease and backs off", async () => {
    const a = world.scripted("a", {
      retry: { initialBackoffMs: 200, jitter: 0 },
      renewer: () => {
        throw new Error("no more threads");
      },
    });
    void a.election.start();
    await world.clock.advance(650);
    expect(a.log).toEqual([]);
    expect(a.elector.made("resign").map(({ atMs }) => atMs)).toEqual([0, 200, 600]);
    await world.until(a.election.stop());
  });
});

test("a renewal that is refused once is logged once", async () => {
  const lines: string[] = [];
  const a = world.scripted("a", { logger: logTo(lines) });
  await a.election.start();
  a.elector.next("renew", out, 3);
  await world.clock.advance(1000);
  expect(lines.filter((line) => line.includes("request to the elector failed")).length).toBe(1);
  await world.until(a.election.stop());
});
