/** Warm standby in the process: when it prepares, and what it may do meanwhile. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gate, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

/** A preparation that ends when the test says so, at each call. */
function preparing() {
  const calls: { readonly signal: AbortSignal; readonly open: () => void }[] = [];
  const prepare = ({ signal }: { signal: AbortSignal }): Promise<void> => {
    const { opened, open } = gate();
    calls.push({ signal, open });
    return opened;
  };
  return { prepare, calls };
}

describe("a process that prepares", () => {
  test("a preparing process is elected if no other candidate waits, keeps its lease, and is promoted when it is ready", async () => {
    const { prepare, calls } = preparing();
    const a = world.participant("a", { prepare });
    await world.until(a.election.start());
    await world.clock.advance(5_000);
    expect(a.election.isLeader()).toBe(true);
    expect(a.election.status()).toMatchObject({ isLeader: true, ready: false });
    expect(a.log).toEqual([]);
    calls[0]?.open();
    await world.clock.advance(1);
    expect(a.election.status()).toMatchObject({ isLeader: true, ready: true });
    expect(a.log).toEqual(["promote 1"]);
    await world.until(a.election.stop());
    expect(a.log).toEqual(["promote 1", "abort", "demote stopped"]);
  });

  test("a preparing process is not elected before a ready one, even if it came first", async () => {
    const shared = world.operator;
    const leader = world.participant("leader", {}, () => shared);
    await world.until(leader.election.start());
    const { prepare, calls } = preparing();
    const cold = world.participant("cold", { prepare }, () => shared);
    await world.until(cold.election.start());
    await world.clock.advance(100);
    const warm = world.participant("warm", {}, () => shared);
    await world.until(warm.election.start());
    await world.clock.advance(100);
    await world.until(leader.election.stop());
    await world.clock.advance(100);
    expect(warm.election.isLeader()).toBe(true);
    expect(cold.election.status()).toMatchObject({ isLeader: false, ready: false, leaderId: "warm" });
    calls[0]?.open();
    await world.until(cold.election.stop());
    await world.until(warm.election.stop());
  });

  test("a preparing process campaigns again as soon as it is ready, and keeps its place in the queue", async () => {
    const shared = world.operator;
    const leader = world.participant("leader", {}, () => shared);
    await world.until(leader.election.start());
    const { prepare, calls } = preparing();
    const first = world.participant("first", { prepare }, () => shared);
    await world.until(first.election.start());
    await world.clock.advance(100);
    const second = world.participant("second", {}, () => shared);
    await world.until(second.election.start());
    await world.clock.advance(100);
    calls[0]?.open();
    await world.clock.advance(100);
    await world.until(leader.election.stop());
    await world.clock.advance(100);
    expect(first.election.isLeader()).toBe(true);
    expect(first.log).toEqual(["promote 2"]);
    await world.until(second.election.stop());
    await world.until(first.election.stop());
  });

  test("a preparing process does not campaign with campaignWhilePreparing false, and start does not wait for it", async () => {
    const { prepare, calls } = preparing();
    const a = world.scripted("a", { prepare, campaignWhilePreparing: false });
    const started = await world.until(a.election.start());
    expect(started.tookMs).toBe(0);
    await world.clock.advance(10_000);
    expect(a.elector.made("campaign")).toEqual([]);
    calls[0]?.open();
    await world.clock.advance(10);
    expect(a.election.isLeader()).toBe(true);
    expect(a.log).toEqual(["promote 1"]);
    await world.until(a.election.stop());
  });

  test("a preparing process that loses its leadership is neither promoted nor demoted", async () => {
    const { prepare, calls } = preparing();
    const a = world.participant("a", { prepare });
    await world.until(a.election.start());
    await world.clock.advance(100);
    expect(a.election.isLeader()).toBe(true);
    await world.operator.stepDown({ groupId: "g", by: "ops", force: true, banMs: 60_000 });
    await world.clock.advance(2_000);
    expect(a.election.isLeader()).toBe(false);
    calls[0]?.open();
    await world.clock.advance(100);
    expect(a.log).toEqual([]);
    // A preparation that began during the leadership counts for the next one.
    expect(calls).toHaveLength(1);
    expect(a.election.status().ready).toBe(true);
    await world.until(a.election.stop());
  });
});

describe("prepare", () => {
  test("prepare is called at the start and after each leadership, when onDemote has ended, and never twice at once", async () => {
    const log: string[] = [];
    const a = world.participant("a", {
      bare: true,
      prepare: async () => {
        log.push("prepare");
      },
    });
    a.election.onPromote(() => log.push("promote")).onDemote(() => log.push("demote"));
    await world.until(a.election.start());
    await world.clock.advance(100);
    a.election.resign();
    await world.clock.advance(2_000);
    expect(a.election.isLeader()).toBe(true);
    expect(log).toEqual(["prepare", "promote", "demote", "prepare", "promote"]);
    await world.until(a.election.stop());
    expect(log).toEqual(["prepare", "promote", "demote", "prepare", "promote", "demote"]);
  });

  test("prepare is retried with the backoff of retry, without a limit, when it rejects or throws", async () => {
    const times: number[] = [];
    const a = world.participant("a", {
      random: () => 1 - Number.EPSILON,
      retry: { initialBackoffMs: 100, multiplier: 3, maxBackoffMs: 400, maxAttempts: 2 },
      prepare: () => {
        times.push(Math.round(world.clock.monotonicMs()));
        if (times.length === 1) throw new Error("at once");
        return times.length < 5 ? Promise.reject(new Error("later")) : Promise.resolve();
      },
    });
    const events: string[] = [];
    const reading = (async () => {
      for await (const event of a.election.changes()) {
        if (event.kind === "hook-failed") events.push(`${event.hook} failed`);
        if (event.kind === "readiness") events.push(event.ready ? "ready" : "cold");
      }
    })();
    await world.until(a.election.start());
    await world.clock.advance(1_150);
    expect(times).toEqual([0, 100, 400, 800]);
    expect(a.election.status()).toMatchObject({ isLeader: true, ready: false });
    await world.clock.advance(100);
    expect(a.log).toEqual(["promote 1"]);
    await world.until(a.election.stop());
    await reading;
    const failure = "prepare failed";
    // A stopped election does not prepare for a next leadership.
    expect(events).toEqual(["cold", failure, failure, failure, failure, "ready"]);
  });

  test("prepare has its signal aborted by stop, which waits until prepare has ended", async () => {
    const { prepare, calls } = preparing();
    const a = world.participant("a", { prepare });
    await world.until(a.election.start());
    await world.clock.advance(10);
    let isStopped = false;
    const stopped = a.election.stop().then(() => {
      isStopped = true;
    });
    await world.clock.advance(1_000);
    expect(calls[0]?.signal.aborted).toBe(true);
    expect(isStopped).toBe(false);
    // Its lease is still resigned.
    expect((await world.operator.leader("g")).leader).toBeNull();
    calls[0]?.open();
    await world.until(stopped);
    expect(a.log).toEqual([]);
  });

  test("prepare has its signal aborted when the election fails", async () => {
    const signals: AbortSignal[] = [];
    const a = world.participant("a", {
      ttlMs: 100,
      prepare: ({ signal }) => {
        signals.push(signal);
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve());
        });
      },
    });
    const failure = await world.until(a.election.start().catch((error: unknown) => error));
    expect(failure.value).toMatchObject({ code: "INVALID_TTL" });
    expect(a.election.status().state.kind).toBe("failed");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("prepare must be a function, and campaignWhilePreparing a boolean", () => {
    expect(() => world.participant("a", { prepare: "warm" as never })).toThrow("prepare must be a function");
    expect(() => world.participant("a", { campaignWhilePreparing: 1 as never })).toThrow(
      "campaignWhilePreparing must be true or false",
    );
  });
});

test("a leader that was elected cold is shown as ready in the members once it is ready", async () => {
  const { prepare, calls } = preparing();
  const beats: object[] = [];
  const a = world.participant("a", { prepare }, (elector) =>
    Object.assign(Object.create(elector) as typeof elector, {
      ...bound(elector),
      heartbeat: (request: object) => {
        beats.push(request);
        return Promise.reject(new Error("for people only"));
      },
    }),
  );
  await world.until(a.election.start());
  await world.clock.advance(100);
  expect(beats).toEqual([]);
  calls[0]?.open();
  await world.clock.advance(10);
  expect(beats).toEqual([{ groupId: "g", nodeId: "a", ready: true }]);
  expect(a.election.isLeader()).toBe(true);
  await world.until(a.election.stop());
});

/** The verbs of an elector, callable on another object. */
function bound(elector: object): object {
  const verbs = ["campaign", "renew", "renewMany", "resign", "leader", "watch", "close"] as const;
  const all = elector as Record<(typeof verbs)[number], (...args: unknown[]) => unknown>;
  return Object.fromEntries(verbs.map((verb) => [verb, (...args: unknown[]) => all[verb](...args)]));
}
