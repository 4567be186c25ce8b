import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { World } from "./world.test-kit.js";

describe("Election", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());

  test("the first election to start leads, and the others know its leader", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    expect(a.election.isLeader()).toBe(true);
    expect(b.election.isLeader()).toBe(false);
    await world.clock.advance(10_000);
    expect(a.election.status()).toMatchObject({
      isLeader: true,
      leaderId: "a",
      term: 1,
      connection: "connected",
    });
    expect(b.election.status()).toMatchObject({ isLeader: false, leaderId: "a", term: 1 });
    expect(a.log).toEqual(["promote 1"]);
    const stopped = a.election.stop();
    await world.clock.advance(1);
    await stopped;
    expect(b.election.isLeader()).toBe(true);
    expect(b.election.term()).toBe(2);
    expect(a.log).toEqual(["promote 1", "abort", "demote stopped"]);
    await b.election.stop();
  });

  test("a leader that was paused for three times its ttl is no longer leader on the first isLeader()", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    a.clock.pause();
    await world.clock.advance(3000);
    expect(b.election.isLeader()).toBe(true);
    a.clock.resume();
    expect(a.election.isLeader()).toBe(false);
    expect(a.log).toEqual(["promote 1", "abort"]);
    await world.clock.advance(100);
    expect(a.log).toEqual(["promote 1", "abort", "demote lapsed"]);
    await Promise.all([a.election.stop(), b.election.stop()]);
  });
});
