import { UnauthorizedError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NotLeadingError } from "./errors.js";
import { answeredAfter, lostAnswer, out, refused, silence } from "./scripted-elector.test-kit.js";
import { failureOf, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("The deadline of a leader", () => {
  test("without renewals the signal aborts stopMarginMs before the deadline, and no other node leads before the lease is over", async () => {
    const a = world.scripted("a", { stopMarginMs: 150 });
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(990 - 150 - 1);
    expect(a.election.isLeader()).toBe(true);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed"]);
    expect(a.election.isLeader()).toBe(false);
    // It resigns, which frees the group before its lease has run out.
    expect(b.election.term()).toBe(2);
    await Promise.all([a.election.stop(), b.election.stop()]);
  });

  test("work can read what is left of a lapsing lease, which is not resigned before the work ends", async () => {
    const a = world.scripted("a", { bare: true });
    const b = world.participant("b");
    const left: number[] = [];
    a.election.onPromote(
      (_mandate, signal, lease) =>
        new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => {
            left.push(lease.leftMs());
            a.clock.after(60, () => {
              left.push(lease.leftMs());
              resolve();
            });
          });
        }),
    );
    await a.election.start();
    await b.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(949);
    expect(left).toEqual([100]);
    expect(b.election.isLeader()).toBe(false);
    expect(a.elector.made("resign")).toEqual([]);
    await world.clock.advance(1);
    expect(left).toEqual([100, 40]);
    expect(b.election.isLeader()).toBe(true);
    await Promise.all([a.election.stop(), b.election.stop()]);
  });

  test("the deadline of a late-answered campaign counts from its send time, and of a waiting one from the end of the wait", async () => {
    const a = world.scripted("a", { campaignWaitMs: 5000 });
    const b = world.participant("b");
    await b.election.start();
    await a.election.start();
    await world.clock.advance(500);
    a.elector.always(out, "renew");
    await world.until(b.election.stop());
    // It waited for 500 ms, of which its own clock and the elector's may each have lost one percent.
    await world.clock.advance(490 + 990 - 100 - 500 - 1);
    expect(a.election.isLeader()).toBe(true);
    await world.clock.advance(1);
    expect(a.log).toContain("demote lapsed");
    a.elector.mend();
    await world.until(a.election.stop());

    const c = world.scripted("c", { groupId: "h" });
    c.elector.next("campaign", answeredAfter(c.clock, 140));
    await world.until(c.election.start());
    c.elector.always(out, "renew");
    await world.clock.advance(990 - 100 - 140 - 1);
    expect(c.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(c.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote lapsed"]);
    c.elector.mend();
    await world.until(c.election.stop());
  });

  test("a process held up past its deadline is no longer leader on the first isLeader(), before any timer has fired", async () => {
    const a = world.distant("a");
    void a.election.start();
    await world.clock.advance(500);
    expect(a.election.isLeader()).toBe(true);
    a.clock.pause();
    await world.clock.advance(2000);
    a.clock.resume();
    expect(a.election.isLeader()).toBe(false);
    expect(a.log).toEqual(["promote 1", "abort"]);
    expect(a.election.term()).toBe(null);
    expect(a.election.token()).toBe(null);
    expect(a.election.mandate()).toBe(null);
    await world.until(a.election.stop());
  });

  test("a machine that slept is no longer leader on the first isLeader(), though its monotonic clock stood still", async () => {
    const a = world.distant("a");
    void a.election.start();
    await world.clock.advance(500);
    expect(a.election.isLeader()).toBe(true);
    await world.clock.advance(2);
    const before = a.clock.monotonicMs();
    a.clock.suspend();
    await world.clock.advance(5000);
    a.clock.resume();
    expect(a.clock.monotonicMs()).toBe(before);
    expect(a.election.isLeader()).toBe(false);
    expect(a.log).toEqual(["promote 1", "abort"]);
    await world.until(a.election.stop());
  });

  test("a machine that slept without calls to isLeader() aborts its work within one heartbeat of waking", async () => {
    const a = world.distant("a");
    void a.election.start();
    await world.clock.advance(510);
    a.clock.suspend();
    await world.clock.advance(5000);
    a.clock.resume();
    await world.clock.advance(89);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote lapsed"]);
    await world.until(a.election.stop());
  });

  test("isLeader() reads the boot clock again once a millisecond of awake time has passed", async () => {
    const a = world.distant("a");
    void a.election.start();
    await world.clock.advance(500);
    expect(a.election.isLeader()).toBe(true);
    a.clock.suspend();
    await world.clock.advance(5000);
    a.clock.resume();
    await world.clock.advance(1);
    expect(a.election.isLeader()).toBe(false);
    await world.until(a.election.stop());
  });

  test("a campaign answered after its own deadline does not promote, and its term is resigned", async () => {
    const a = world.scripted("a", { campaignWaitMs: 5000 });
    a.elector.next("campaign", silence);
    void a.election.start();
    // The second campaign may take as long as its wait: it is won at once and answered late.
    a.elector.next("campaign", answeredAfter(a.clock, 1200));
    await world.clock.advance(501);
    await world.clock.advance(1300);
    expect(a.log[0]).toBe("promote 2");
    expect(a.elector.made("resign").map(({ term }) => term)).toEqual([1]);
    await world.until(a.election.stop());
  });

  test("a campaign answered within stopMarginMs of its deadline does not promote, and its term is resigned", async () => {
    const a = world.scripted("a", { campaignWaitMs: 5000 });
    a.elector.next("campaign", silence);
    void a.election.start();
    a.elector.next("campaign", answeredAfter(a.clock, 920));
    await world.clock.advance(501 + 100 + 930);
    expect(a.elector.made("resign").map(({ term }) => term)).toEqual([1]);
    expect(a.log[0]).toBe("promote 2");
    await world.until(a.election.stop());
  });

  test("a renewal answered after the lease has ended does not bring it back", async () => {
    const a = world.scripted("a", {
      ttlMs: 1200,
      heartbeatIntervalMs: 400,
      connectionTimeoutMs: 399,
      stopMarginMs: 0,
    });
    await a.election.start();
    a.clock.after(350, () => a.elector.always(answeredAfter(world.clock, 395), "renew"));
    await world.clock.advance(600);
    // The answer to the renewal of 400 comes at 795, while the process is suspended.
    a.clock.pause();
    await world.clock.advance(1500);
    a.clock.resume();
    expect(a.election.isLeader()).toBe(false);
    await world.clock.advance(10);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote lapsed"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });
});

describe("A term of an election", () => {
  test("a term that has ended here is not led again: its confirmation is answered by a resign", async () => {
    const a = world.scripted("a");
    await a.election.start();
    a.elector.always(out, "renew");
    a.elector.next("resign", refused(new UnauthorizedError("not now")));
    // It lapses here at 890; in the store the lease lasts until 1010, and the next campaign confirms it.
    await world.clock.advance(891);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed", "promote 2"]);
    expect(a.elector.made("resign").map(({ term }) => term)).toEqual([1, 1]);
    expect(a.elector.made("campaign").length).toBe(3);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("a term won by a campaign whose answer was lost is led when the next campaign confirms it", async () => {
    const a = world.scripted("a");
    a.elector.next("campaign", lostAnswer);
    await world.until(a.election.start());
    await world.clock.advance(200);
    expect(a.log).toEqual(["promote 1"]);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });
});

describe("Warnings and limits while leading", () => {
  test("danger is reported once when half the ttl has passed since the last successful renewal", async () => {
    const a = world.scripted("a");
    const dangers: [number, number][] = [];
    const reading = (async () => {
      for await (const event of a.election.changes())
        if (event.kind === "danger") dangers.push([a.clock.monotonicMs(), event.leftMs]);
    })();
    await a.election.start();
    await world.clock.advance(390);
    a.elector.always(out, "renew");
    // The last renewal was sent at 200.
    await world.clock.advance(309);
    expect(dangers).toEqual([]);
    await world.clock.advance(1);
    expect(dangers).toEqual([[700, 490]]);
    await world.clock.advance(200);
    a.elector.mend();
    await world.clock.advance(2000);
    expect(a.election.isLeader()).toBe(true);
    expect(dangers.length).toBe(1);
    a.elector.always(out, "renew");
    await world.clock.advance(1000);
    expect(dangers.length).toBe(2);
    a.elector.mend();
    await world.until(a.election.stop());
    await reading;
  });

  test("the leadership ends after disconnectGracePeriodMs without an answer, counted from the send of the last answered renewal", async () => {
    const a = world.scripted("a", { disconnectGracePeriodMs: 450, retry: { initialBackoffMs: 5000 } });
    await a.election.start();
    await world.clock.advance(390);
    a.elector.next("renew", out);
    await world.clock.advance(220);
    expect(a.election.status()).toMatchObject({ connection: "connected", consecutiveFailures: 0 });
    a.elector.next("renew", answeredAfter(a.clock, 100));
    await world.clock.advance(300);
    // The last answered renewal was sent at 800, and answered at 900.
    a.elector.always(out, "renew");
    await world.clock.advance(800 + 450 - 910 - 1);
    expect(a.election.status().connection).toBe("disconnected");
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote disconnected"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("the leadership ends after maxConsecutiveFailures heartbeats without success, and retries between heartbeats do not count", async () => {
    const a = world.scripted("a", {
      maxConsecutiveFailures: 3,
      retry: { initialBackoffMs: 10, maxBackoffMs: 20, jitter: 0 },
    });
    await a.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(599);
    expect(a.election.status().consecutiveFailures).toBe(2);
    expect(a.elector.made("renew").length).toBeGreaterThan(10);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote heartbeat-failed"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("a renewal that fails is repeated before the next heartbeat", async () => {
    const a = world.scripted("a", { retry: { initialBackoffMs: 40, jitter: 0 } });
    await a.election.start();
    a.elector.next("renew", out);
    await world.clock.advance(450);
    expect(a.elector.made("renew").map(({ atMs }) => atMs)).toEqual([200, 240, 400]);
    await world.until(a.election.stop());
  });

  test("a leader whose renewals are refused permanently steps down at once", async () => {
    const a = world.participant("a");
    await a.election.start();
    await world.operator
      .updateGroup({ groupId: "g", policy: { minTtlMs: 2000 } })
      .catch(() => world.operator.createGroup({ groupId: "g", policy: { minTtlMs: 2000 } }));
    await world.clock.advance(200);
    expect(a.log).toEqual(["promote 1", "abort", "demote refused"]);
    await world.until(a.election.stop());
  });
});

describe("Validation by the store", () => {
  test("validateToken returns true or false, and rejects when the store does not answer", async () => {
    const a = world.scripted("a");
    expect(await a.election.validateToken()).toBe(false);
    await a.election.start();
    expect(await a.election.validateToken()).toBe(true);
    a.elector.next("leader", out);
    expect(await failureOf(a.election.validateToken())).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    a.elector.next("leader", silence);
    const asked = failureOf(a.election.validateToken());
    expect((await world.until(asked)).value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(a.election.isLeader()).toBe(true);
    await world.operator.stepDown({ groupId: "g", by: "op", force: true });
    expect(await a.election.validateToken()).toBe(false);
    expect(a.election.isLeader()).toBe(true);
    expect(await a.election.validateTokenOrDemote()).toBe(false);
    expect(a.election.isLeader()).toBe(false);
    await world.until(a.election.stop());
  });

  test("the end of the leadership resolves a pending validateToken with false, and logs no failure", async () => {
    const failures: string[] = [];
    const a = world.scripted("a", {
      logger: { debug() {}, info() {}, warn: (_fields, message) => failures.push(message), error() {} },
    });
    await a.election.start();
    a.elector.next("leader", silence);
    const asked = a.election.validateToken();
    void a.election.stop();
    expect(await asked).toBe(false);
    expect(failures).toEqual([]);
    await world.until(a.election.stop());
  });

  test("with validationIntervalMs a replaced leader notices without a renewal, and an outage changes nothing", async () => {
    const a = world.scripted("a", { fencing: { validationIntervalMs: 250 } });
    await a.election.start();
    a.elector.next("leader", out);
    await world.clock.advance(260);
    expect(a.log).toEqual(["promote 1"]);
    await world.operator.stepDown({ groupId: "g", by: "op", force: true });
    a.elector.always(out, "renew");
    await world.clock.advance(239);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote token-invalid"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("with cacheToken a confirmation is valid for one interval, and only while leading", async () => {
    const a = world.scripted("a", { fencing: { validationIntervalMs: 800, cacheToken: true } });
    await a.election.start();
    expect(await a.election.validateToken()).toBe(true);
    a.elector.always(out, "leader");
    await world.clock.advance(799);
    expect(await a.election.validateToken()).toBe(true);
    await world.clock.advance(1);
    expect(await failureOf(a.election.validateToken())).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    a.elector.mend();
    expect(await a.election.validateToken()).toBe(true);
    await world.until(a.election.stop());
    expect(await a.election.validateToken()).toBe(false);
  });

  test("assertLeader reads the store only with validateOnCriticalOps", async () => {
    const plain = world.scripted("a");
    const wary = world.scripted("a", { groupId: "h", fencing: { validateOnCriticalOps: true } });
    expect(await failureOf(plain.election.assertLeader())).toBeInstanceOf(NotLeadingError);
    await plain.election.start();
    await wary.election.start();
    expect(await plain.election.assertLeader()).toMatchObject({ term: 1, nodeId: "a", groupId: "g" });
    expect(await wary.election.assertLeader()).toMatchObject({ term: 1, groupId: "h" });
    expect(plain.elector.made("leader").length).toBe(0);
    expect(wary.elector.made("leader").length).toBe(1);
    await world.operator.stepDown({ groupId: "h", by: "op", force: true });
    expect(await failureOf(wary.election.assertLeader())).toBeInstanceOf(NotLeadingError);
    expect(wary.election.isLeader()).toBe(false);
    await world.until(Promise.all([plain.election.stop(), wary.election.stop()]));
  });
});
