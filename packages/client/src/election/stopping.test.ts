import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DemoteReason } from "./state.js";
import { StopTimeoutError } from "./errors.js";
import { answeredAfter, lostAnswer, out, refused, silence } from "./scripted-elector.test-kit.js";
import { UnauthorizedError } from "@tenure/core";
import { NO_METRICS } from "./telemetry.js";
import { failureOf, gate, type Scripted, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

/** Whether a new candidate wins at once. */
async function isFree(): Promise<boolean> {
  const result = await world.operator.campaign({ groupId: "g", nodeId: "next", ttlMs: 1000 });
  return result.kind === "elected";
}

describe("stop of an election", () => {
  test("an election stopped before start is stopped, and can be started", async () => {
    const a = world.participant("a");
    await a.election.stop();
    expect(a.election.status().state).toEqual({ kind: "stopped" });
    await a.election.start();
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });

  test("an election stopped while it waits in the queue leaves it and never wins", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    await world.clock.advance(100);
    expect((await world.until(b.election.stop())).tookMs).toBe(0);
    await world.until(a.election.stop());
    await world.clock.advance(100);
    expect(b.log).toEqual([]);
    expect(await isFree()).toBe(true);
  });

  test("an election stopped after its campaign was won and before the answer resigns the term, and start resolves", async () => {
    const a = world.scripted("a");
    a.elector.next("campaign", answeredAfter(a.clock, 100));
    const started = a.election.start();
    await world.clock.advance(50);
    await world.until(a.election.stop({ resign: false }));
    await started;
    expect(a.log).toEqual([]);
    expect(await isFree()).toBe(true);
  });

  test("an election stopped at the moment of the winning answer resigns the term and does not lead it", async () => {
    const metrics = {
      ...NO_METRICS,
      acquireAttempt: () => void a.election.stop(),
    };
    const a: Scripted = world.scripted("a", { metrics });
    a.elector.always(out, "leader");
    await a.election.start();
    await world.until(a.election.stop());
    expect(a.log).toEqual([]);
    expect(a.elector.made("resign").map(({ term }) => term)).toEqual([1]);
    expect(await isFree()).toBe(true);
  });

  test("an election stopped between two campaigns resigns the term of a campaign whose answer was lost", async () => {
    const a = world.scripted("a", { retry: { initialBackoffMs: 500, jitter: 0 } });
    a.elector.next("campaign", lostAnswer);
    await a.election.start();
    await world.clock.advance(100);
    expect(a.elector.made("campaign").length).toBe(1);
    await world.until(a.election.stop());
    expect(a.log).toEqual([]);
    expect(await isFree()).toBe(true);
  });

  test("an election stopped after an unanswered campaign asks again what it may have won, and resigns it", async () => {
    const a = world.scripted("a");
    a.elector.next("campaign", lostAnswer);
    a.elector.next("campaign", silence);
    await a.election.start();
    await world.clock.advance(200);
    // The first read goes to the server that did not answer the campaign either.
    a.elector.next("leader", silence);
    await world.until(a.election.stop());
    expect(await isFree()).toBe(true);
  });

  test("an election that gives up resigns what it may have won", async () => {
    const a = world.scripted("a", { retry: { maxAttempts: 1 } });
    a.elector.next("campaign", lostAnswer);
    const started = failureOf(a.election.start());
    await world.clock.advance(1);
    await started;
    expect(a.election.status().state).toMatchObject({
      kind: "failed",
      error: { code: "ATTEMPTS_EXHAUSTED" },
    });
    expect(await isFree()).toBe(true);
  });

  test("a stopped election does not resign the term of another instance of its node", async () => {
    const first = world.participant("a");
    const second = world.scripted("a", { newId: () => "another" });
    await first.election.start();
    await second.election.start();
    second.elector.next("campaign", silence);
    await world.clock.advance(500);
    await world.until(second.election.stop());
    await world.clock.advance(2000);
    expect(first.election.isLeader()).toBe(true);
    expect(first.log).toEqual(["promote 1"]);
    await world.until(first.election.stop());
  });

  test("a stop while leading ends the work first, then onDemote, then resigns the lease, which is kept until then", async () => {
    const a = world.scripted("a", { bare: true });
    const b = world.participant("b");
    const [worked, demoted] = [gate(), gate()];
    a.election.onPromote(() => worked.opened).onDemote(() => demoted.opened);
    await a.election.start();
    await b.election.start();
    const stopped = a.election.stop();
    expect(a.election.isLeader()).toBe(false);
    await world.clock.advance(3000);
    expect(a.election.status().state).toMatchObject({ kind: "stepping-down", reason: "stopped" });
    expect(a.elector.made("resign")).toEqual([]);
    worked.open();
    await world.clock.advance(3000);
    expect(a.elector.made("resign")).toEqual([]);
    expect(b.log).toEqual([]);
    demoted.open();
    await world.until(stopped);
    expect(a.elector.made("resign").length).toBe(1);
    expect(b.election.isLeader()).toBe(true);
    expect(a.election.status().state).toEqual({ kind: "stopped" });
    await world.until(b.election.stop());
  });

  test("a stop while stepping down for another reason ends with that step-down", async () => {
    const a = world.scripted("a", { bare: true });
    const worked = gate();
    const reasons: DemoteReason[] = [];
    a.election.onPromote(() => worked.opened).onDemote((reason) => reasons.push(reason));
    await a.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(1000);
    a.elector.mend();
    const stopped = a.election.stop();
    await world.clock.advance(100);
    expect(reasons).toEqual([]);
    worked.open();
    await world.until(stopped);
    expect(reasons).toEqual(["lapsed"]);
    expect(a.election.status().state).toEqual({ kind: "stopped" });
  });

  test("a failed election stays failed after stop", async () => {
    const a = world.scripted("a");
    a.elector.next("campaign", refused(new UnauthorizedError("not allowed")));
    expect(await failureOf(a.election.start())).toBeInstanceOf(UnauthorizedError);
    await a.election.stop();
    expect(a.election.status().state).toMatchObject({ kind: "failed" });
  });

  test("a second stop, or the end of a scope, joins the first, whose options count", async () => {
    const a = world.scripted("a");
    await a.election.start();
    await world.until(Promise.all([a.election.stop({ resign: false }), a.election[Symbol.asyncDispose]()]));
    expect(a.elector.made("resign")).toEqual([]);
    expect(a.log).toEqual(["promote 1", "abort", "demote stopped"]);
    {
      await using other = world.participant("b", { groupId: "h" }).election;
      await other.start();
      expect(other.isLeader()).toBe(true);
    }
    expect((await world.operator.leader("h")).leader).toBe(null);
  });

  test.each([
    [{}, { deleteOnStop: false }, false],
    [{ resign: true }, { deleteOnStop: false }, true],
    [{ resign: false }, {}, false],
    [{}, {}, true],
  ])("stop options %j over %j: the lease is resigned: %s", async (stop, options, resigned) => {
    const a = world.scripted("a", options);
    await a.election.start();
    await world.until(a.election.stop(stop));
    expect(a.elector.made("resign").length).toBe(resigned ? 1 : 0);
    expect(await isFree()).toBe(resigned);
  });

  test("stop with waitForDemote false resolves at once, and the lease is kept until the work has ended", async () => {
    const a = world.scripted("a", { bare: true });
    const worked = gate();
    a.election.onPromote(() => worked.opened);
    await a.election.start();
    await a.election.stop({ waitForDemote: false });
    expect(a.election.isLeader()).toBe(false);
    await world.clock.advance(100);
    expect(a.elector.made("resign")).toEqual([]);
    worked.open();
    await world.clock.advance(1);
    expect(a.elector.made("resign").length).toBe(1);
  });

  test("stop with timeoutMs rejects in time, and then the lease expires without a resignation", async () => {
    const a = world.scripted("a", { bare: true });
    const b = world.participant("b");
    a.election.onPromote(() => new Promise(() => {}));
    await a.election.start();
    await b.election.start();
    const stopped = failureOf(a.election.stop({ timeoutMs: 1500 }));
    const { value, tookMs } = await world.until(stopped);
    expect(value).toBeInstanceOf(StopTimeoutError);
    expect(tookMs).toBe(1500);
    expect(b.election.isLeader()).toBe(false);
    await world.clock.advance(1011);
    expect(b.election.isLeader()).toBe(true);
    expect(a.elector.made("resign")).toEqual([]);
    await world.until(b.election.stop());
  });

  test("a stop that ends within timeoutMs leaves no timer behind", async () => {
    const a = world.participant("a");
    await a.election.start();
    await world.until(a.election.stop({ timeoutMs: 50 }));
    await world.clock.advance(100);
    expect(a.election.status().state).toEqual({ kind: "stopped" });
  });

  test.each([
    ["leading", out],
    ["leading", silence],
    ["following", out],
    ["following", silence],
  ] as const)("a stop while %s with the store out ends within about a ttl", async (role, fate) => {
    const a = world.scripted("a");
    const b = world.scripted("b");
    await a.election.start();
    await b.election.start();
    const one = role === "leading" ? a : b;
    one.elector.always(fate);
    await world.clock.advance(300);
    const { tookMs } = await world.until(one.election.stop());
    expect(tookMs).toBeLessThanOrEqual(1000 + 150);
    one.elector.mend();
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });
});

describe("resign of an election", () => {
  test("resign gives the leadership up when the work has ended, and campaigns again behind the waiting candidates", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    a.election.resign();
    await a.election.start();
    await b.election.start();
    await world.clock.advance(50);
    a.election.resign();
    await world.clock.advance(1);
    expect(b.election.isLeader()).toBe(true);
    expect(a.log).toEqual(["promote 1", "abort", "demote resigned"]);
    b.election.resign();
    await world.clock.advance(1);
    expect(a.election.term()).toBe(3);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test("resign with standAgainAfterMs campaigns again only after that time, and can be stopped meanwhile", async () => {
    const a = world.participant("a");
    await a.election.start();
    a.election.resign({ standAgainAfterMs: 5000 });
    await world.clock.advance(4999);
    expect(a.log).toEqual(["promote 1", "abort", "demote resigned"]);
    await world.clock.advance(1);
    expect(a.election.term()).toBe(2);
    a.election.resign({ standAgainAfterMs: 5000 });
    await world.clock.advance(100);
    expect((await world.until(a.election.stop())).tookMs).toBe(0);
    expect(() => a.election.resign({ standAgainAfterMs: -1 })).toThrow("standAgainAfterMs must be");
  });
});
