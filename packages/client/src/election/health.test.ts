import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { out } from "./scripted-elector.test-kit.js";
import { World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("Health", () => {
  test("an unhealthy leader resigns at its next heartbeat, and campaigns again only when it is healthy", async () => {
    let healthy = true;
    const a = world.scripted("a", { healthChecker: () => healthy });
    const b = world.participant("b");
    const events: boolean[] = [];
    const reading = (async () => {
      for await (const event of a.election.changes()) if (event.kind === "health") events.push(event.healthy);
    })();
    await a.election.start();
    await b.election.start();
    await world.clock.advance(100);
    healthy = false;
    await world.clock.advance(100);
    expect(a.log).toEqual(["promote 1", "abort", "demote unhealthy"]);
    expect(b.election.isLeader()).toBe(true);
    expect(a.election.status().state).toEqual({ kind: "unhealthy" });
    const asked = a.elector.made("campaign").length;
    await world.until(b.election.stop());
    await world.clock.advance(5000);
    expect(a.elector.made("campaign").length).toBe(asked);
    healthy = true;
    await world.clock.advance(201);
    expect(a.election.isLeader()).toBe(true);
    expect(events).toEqual([false, true]);
    await world.until(a.election.stop());
    await reading;
  });

  test("an unhealthy leader whose work hangs does not keep its lease: another node leads when the lease is over", async () => {
    let healthy = true;
    const a = world.participant("a", { bare: true, healthChecker: () => healthy });
    let end: (value: unknown) => void = () => {};
    a.election.onPromote(
      () =>
        new Promise((resolve) => {
          end = resolve;
        }),
    );
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    healthy = false;
    await world.clock.advance(1300);
    expect(b.election.isLeader()).toBe(true);
    end(null);
    await world.clock.advance(100);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no database"))],
    [
      "throws at once",
      () => {
        throw new Error("no database");
      },
    ],
    ["does not answer in time", () => new Promise<boolean>(() => {})],
  ])(
    "a health check that %s counts as failed, and fewer than maxHealthFailures in a row are tolerated",
    async (_how, bad) => {
      let ill = false;
      const a = world.scripted("a", {
        healthChecker: () => (ill ? bad() : true),
        healthTimeoutMs: 50,
        maxHealthFailures: 3,
      });
      await a.election.start();
      ill = true;
      await world.clock.advance(460);
      ill = false;
      await world.clock.advance(200);
      ill = true;
      expect(a.log).toEqual(["promote 1"]);
      await world.clock.advance(530);
      expect(a.log).toEqual(["promote 1"]);
      await world.clock.advance(80);
      expect(a.log).toEqual(["promote 1", "abort", "demote unhealthy"]);
      ill = false;
      await world.clock.advance(300);
      await world.until(a.election.stop());
    },
  );

  test("the health checker's signal aborts when its answer is no longer awaited", async () => {
    const told: boolean[] = [];
    let slow = false;
    const a = world.scripted("a", {
      healthTimeoutMs: 50,
      maxHealthFailures: 9,
      healthChecker: (signal) => {
        signal.addEventListener("abort", () => told.push(slow));
        return slow ? new Promise<boolean>(() => {}) : true;
      },
    });
    await a.election.start();
    slow = true;
    await world.clock.advance(249);
    const before = told.length;
    await world.clock.advance(1);
    expect(told.length).toBe(before + 1);
    slow = false;
    await world.until(a.election.stop());
  });

  test("no renewal is sent before the health check of its heartbeat has answered", async () => {
    const a = world.scripted("a", {
      healthChecker: () => new Promise((resolve) => a.clock.after(30, () => resolve(true))),
    });
    await world.until(a.election.start());
    await world.clock.advance(400);
    expect(a.elector.made("renew").map(({ atMs }) => atMs)).toEqual([230, 430]);
    await world.until(a.election.stop());
  });

  test("an unhealthy process does not campaign, and one that becomes unhealthy while it waits leaves the queue", async () => {
    let healthy = false;
    const a = world.participant("a");
    await a.election.start();
    const b = world.scripted("b", { healthChecker: () => healthy });
    const c = world.participant("c");
    const started = b.election.start();
    await world.clock.advance(1000);
    expect(b.elector.made("campaign")).toEqual([]);
    expect(b.election.status().state).toEqual({ kind: "unhealthy" });
    healthy = true;
    await world.clock.advance(200);
    await started;
    expect(b.election.status().state).toEqual({ kind: "following" });
    await c.election.start();
    healthy = false;
    await world.clock.advance(200);
    expect(b.election.status().state).toEqual({ kind: "unhealthy" });
    await world.until(a.election.stop());
    await world.clock.advance(10);
    expect(c.election.isLeader()).toBe(true);
    expect(b.log).toEqual([]);
    await world.until(Promise.all([b.election.stop(), c.election.stop()]));
  });

  test("a candidate that becomes unhealthy while it waits asks the elector for the leader and acts on the answer, although its watch is silent", async () => {
    let healthy = true;
    const [a, c] = [world.participant("a"), world.participant("c")];
    const b = world.scripted("b", { healthChecker: () => healthy });
    await a.election.start();
    await c.election.start();
    b.elector.isDeaf = true;
    await b.election.start();
    await world.clock.advance(100);
    await world.until(a.election.stop());
    await world.clock.advance(10);
    expect(c.election.isLeader()).toBe(true);
    expect(b.election.leaderId()).toBe("a");
    healthy = false;
    await world.clock.advance(300);
    expect(b.election.status()).toMatchObject({ state: { kind: "unhealthy" }, leaderId: "c" });
    await world.until(Promise.all([b.election.stop(), c.election.stop()]));
  });

  test("a process that becomes unhealthy after a campaign of unknown outcome resigns what it may have won", async () => {
    let healthy = true;
    const a = world.scripted("a", {
      healthChecker: () => healthy,
      retry: { initialBackoffMs: 300, jitter: 0 },
    });
    a.elector.next("campaign", async (call) => {
      await call();
      return out(call);
    });
    await a.election.start();
    healthy = false;
    await world.clock.advance(350);
    expect(a.election.status().state).toEqual({ kind: "unhealthy" });
    expect((await world.operator.leader("g")).leader).toBe(null);
    await world.until(a.election.stop());
  });
});
