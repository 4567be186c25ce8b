import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { out } from "./scripted-elector.test-kit.js";
import { World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("takeoverDelayMs of an election", () => {
  test("start with takeoverDelayMs resolves even if another node leads or the store is out", async () => {
    const a = world.participant("a");
    await a.election.start();
    const b = world.participant("b", { takeoverDelayMs: 500 });
    expect((await world.until(b.election.start())).tookMs).toBe(0);
    const c = world.distant("c", { takeoverDelayMs: 500 });
    c.plan.outageUntilMs = 60_000;
    expect((await world.until(c.election.start())).tookMs).toBeLessThanOrEqual(150);
    c.plan.outageUntilMs = 0;
    await world.until(Promise.all([a, b, c].map((each) => each.election.stop())));
  });

  test("a leader lost for longer than takeoverDelayMs is succeeded when the delay is over", async () => {
    const a = world.distant("a");
    const b = world.participant("b", { takeoverDelayMs: 500 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    a.clock.pause();
    await world.clock.advance(1009 + 499);
    expect(b.election.isLeader()).toBe(false);
    await world.clock.advance(5);
    expect(b.election.isLeader()).toBe(true);
    a.clock.resume();
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test("a leader lost for less than takeoverDelayMs returns itself", async () => {
    const a = world.distant("a");
    const b = world.participant("b", { takeoverDelayMs: 500 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    a.clock.pause();
    await world.clock.advance(1200);
    a.clock.resume();
    await world.clock.advance(1000);
    expect(a.election.term()).toBe(2);
    expect(b.log).toEqual([]);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test("a leader whose lease lapsed by its own clock does not resign, so that it can return first", async () => {
    const a = world.scripted("a", { takeoverDelayMs: 500 });
    const b = world.participant("b", { takeoverDelayMs: 500 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    a.elector.always(out, "renew");
    // It lapses here at 890; in the store the lease lasts until 1010.
    await world.clock.advance(891);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed"]);
    a.elector.mend();
    await world.clock.advance(5000);
    expect(a.elector.made("resign")).toEqual([]);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed", "promote 2"]);
    expect(b.log).toEqual([]);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test("a former leader whose watch is silent returns when its own read shows that its lease has expired", async () => {
    const a = world.scripted("a", { takeoverDelayMs: 500 });
    a.elector.isDeaf = true;
    const b = world.participant("b", { takeoverDelayMs: 500 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    a.elector.always(out, "renew");
    await world.clock.advance(891);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed"]);
    a.elector.mend();
    await world.clock.advance(5000);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed", "promote 2"]);
    expect(b.log).toEqual([]);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  test("a leader whose lease lapsed by its own clock resigns if it is stopped before the lease expires in the store", async () => {
    const a = world.scripted("a", { takeoverDelayMs: 500 });
    await world.until(a.election.start());
    a.elector.always(out, "renew");
    await world.clock.advance(891);
    await world.until(a.election.stop());
    expect(a.elector.made("resign").map(({ term }) => term)).toEqual([1]);
    expect((await world.operator.leader("g")).leader).toBe(null);
  });

  test("a leader that resigned is succeeded at once, without takeoverDelayMs", async () => {
    const a = world.participant("a");
    const b = world.participant("b", { takeoverDelayMs: 60_000 });
    await a.election.start();
    await world.until(b.election.start());
    await world.until(a.election.stop());
    await world.clock.advance(1);
    expect(b.election.isLeader()).toBe(true);
    await world.until(b.election.stop());
  });
});
