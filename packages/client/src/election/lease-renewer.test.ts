import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalRenewer } from "./lease-renewer.js";
import { answeredAfter, out, silence } from "./scripted-elector.test-kit.js";
import { World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("Renewals of a lease", () => {
  test("a renewal that was answered late counts from its send time", async () => {
    const a = world.scripted("a");
    await a.election.start();
    a.elector.next("renew", answeredAfter(a.clock, 140));
    await world.clock.advance(350);
    a.elector.always(out, "renew");
    await world.clock.advance(200 + 990 - 100 - 350 - 1);
    expect(a.election.isLeader()).toBe(true);
    await world.clock.advance(1);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote lapsed"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("renewals that take longer than a heartbeat do not cost the leadership", async () => {
    const a = world.scripted("a");
    await a.election.start();
    a.elector.always(answeredAfter(a.clock, 300), "renew");
    await world.clock.advance(10_000);
    expect(a.log).toEqual(["promote 1"]);
    expect(a.election.isLeader()).toBe(true);
    // Each renewal counts from its send time, including the last answered one.
    const lastMs = a.elector.made("renew").at(-1)?.atMs ?? 0;
    a.elector.mend();
    a.elector.always(silence, "renew");
    await world.clock.advance(lastMs + 990 - 100 - 10_000 - 1);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote lapsed"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("at most two unanswered renewals are in flight, so that they do not queue behind each other", async () => {
    const a = world.scripted("a", { heartbeatIntervalMs: 50, connectionTimeoutMs: 40 });
    await a.election.start();
    a.elector.always(silence, "renew");
    await world.clock.advance(510);
    // Each counts as lost after a third of the ttl.
    expect(a.elector.made("renew").map(({ atMs }) => atMs)).toEqual([50, 100, 400, 450]);
    a.elector.mend();
    await world.clock.advance(2000);
    expect(a.log).toEqual(["promote 1"]);
    await world.until(a.election.stop());
  });

  test("a failed renewal is repeated between two heartbeats, and one that may still be answered is not", async () => {
    const a = world.scripted("a", { retry: { initialBackoffMs: 10, jitter: 0 } });
    await a.election.start();
    a.elector.next("renew", out, 2);
    await world.clock.advance(399);
    expect(a.elector.made("renew").map(({ atMs }) => atMs)).toEqual([200, 210, 230]);
    a.elector.next("renew", silence);
    await world.clock.advance(399);
    expect(a.elector.made("renew").map(({ atMs }) => atMs)).toEqual([200, 210, 230, 400, 600]);
    await world.until(a.election.stop());
  });

  test("a renewal loop that throws ends the leadership at once, and not when the lease has expired", async () => {
    const broken = () => Promise.reject(new Error("the loop is broken"));
    const a = world.scripted("a", {
      renewer: (parts) => new LocalRenewer({ ...parts, mayRenew: broken }),
    });
    await a.election.start();
    await world.clock.advance(199);
    expect(a.election.isLeader()).toBe(true);
    await world.clock.advance(1);
    expect(a.election.isLeader()).toBe(false);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote heart-failed"]);
    await world.until(a.election.stop());
  });
});
