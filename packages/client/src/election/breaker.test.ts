import { VirtualClock } from "@tenure/core/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Breaker, breakerOf, type CallOutcome } from "./breaker.js";
import { Election } from "./election.js";
import { out, silence } from "./scripted-elector.test-kit.js";
import { failureOf, World } from "./world.test-kit.js";

describe("Breaker", () => {
  const never = new AbortController().signal;

  async function opened(clock: VirtualClock): Promise<Breaker> {
    const breaker = new Breaker({ clock, failures: 3, openMs: 1000 });
    for (let i = 0; i < 3; i += 1) (await breaker.admit(never))("failed");
    return breaker;
  }

  test.each<[string, readonly CallOutcome[], boolean]>([
    ["three failures in a row", ["failed", "failed", "failed"], true],
    ["an answer in between", ["failed", "failed", "answered", "failed", "failed"], false],
    [
      "abandoned calls, which count neither way",
      ["failed", "given-up", "failed", "given-up", "failed"],
      true,
    ],
    ["only abandoned calls", ["given-up", "given-up", "given-up"], false],
  ])("after %s a breaker is open: %s, %s", async (_name, outcomes, open) => {
    const breaker = new Breaker({ clock: new VirtualClock(), failures: 3 });
    for (const outcome of outcomes) (await breaker.admit(never))(outcome);
    expect(breaker.isOpen).toBe(open);
  });

  test("an open breaker lets one call at a time try, each openMs after the last failure, and all calls after an answer", async () => {
    const clock = new VirtualClock();
    const breaker = await opened(clock);
    const admitted: { readonly atMs: number; readonly done: (outcome: CallOutcome) => void }[] = [];
    for (let i = 0; i < 5; i += 1) {
      void breaker.admit(never).then((done) => admitted.push({ atMs: clock.monotonicMs(), done }));
    }
    await clock.advance(999);
    expect(admitted.length).toBe(0);
    await clock.advance(5000);
    expect(admitted.map(({ atMs }) => atMs)).toEqual([1000]);
    admitted[0]?.done("failed");
    await clock.advance(999);
    expect(admitted.length).toBe(1);
    await clock.advance(1);
    expect(admitted.length).toBe(2);
    // An abandoned trial shows nothing, so the next one tries at once.
    admitted[1]?.done("given-up");
    await clock.advance(0);
    expect(admitted.length).toBe(3);
    admitted[2]?.done("answered");
    await clock.advance(0);
    expect(admitted.length).toBe(5);
  });

  test("an answer that closes the breaker ends every pause, whatever is left of it", async () => {
    const clock = new VirtualClock();
    const breaker = await opened(clock);
    const ended: string[] = [];
    void breaker.pause(5000, never).then(() => ended.push("pause"));
    const trial = breaker.admit(never);
    void breaker.admit(never).then(() => ended.push("admitted"));
    await clock.advance(1000);
    expect(ended).toEqual([]);
    (await trial)("answered");
    await clock.advance(0);
    expect(ended.toSorted()).toEqual(["admitted", "pause"]);
    const leaving = new AbortController();
    const left = failureOf(breaker.pause(5000, leaving.signal));
    leaving.abort(new Error("enough"));
    expect(await left).toMatchObject({ message: "enough" });
  });

  test("a caller that waits for an open breaker can abort", async () => {
    const clock = new VirtualClock();
    const breaker = await opened(clock);
    const leaving = new AbortController();
    const [sleeping, behind] = [breaker.admit(leaving.signal), breaker.admit(leaving.signal)].map(failureOf);
    leaving.abort(new Error("enough"));
    expect(await sleeping).toMatchObject({ message: "enough" });
    expect(await behind).toMatchObject({ message: "enough" });
  });
});

describe("Elections over one elector", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());

  test("elections over one elector share its breaker: together they try a failing elector about once a second", async () => {
    const { elector, clock, election } = world.scripted("a", { groupId: "g0" });
    const all = [election];
    for (let i = 1; i < 30; i += 1) {
      all.push(world.participant("a", { groupId: `g${i}`, clock }, () => elector).election);
    }
    elector.always(out, "campaign");
    for (const each of all) void each.start();
    await world.clock.advance(10_000);
    // The first campaign of each election was in flight before the first one had failed.
    expect(elector.made("campaign").length).toBeLessThanOrEqual(30 + 10);
    elector.mend();
    // The next trial comes within a second, and its answer ends the pauses of all others.
    await world.clock.advance(1500);
    expect(all.filter((each) => each.isLeader()).length).toBe(30);
    await world.until(Promise.all(all.map((each) => each.stop())));
  });

  test("elections over one elector resign lapsed terms through its breaker, and lead again together", async () => {
    const { elector, clock, election } = world.scripted("a", { groupId: "g0" });
    const all = [election];
    for (let i = 1; i < 30; i += 1) {
      all.push(world.participant("a", { groupId: `g${i}`, clock }, () => elector).election);
    }
    await world.until(Promise.all(all.map((each) => each.start())));
    elector.always(silence);
    await world.clock.advance(6000);
    expect(all.filter((each) => each.isLeader())).toEqual([]);
    // The first resign of each election was in flight before one had failed; then one at a time.
    expect(elector.made("resign").length).toBeLessThanOrEqual(30 + 6);
    elector.mend();
    await world.clock.advance(1600);
    expect(all.filter((each) => each.isLeader()).length).toBe(30);
    await world.until(Promise.all(all.map((each) => each.stop())));
  });

  test("two hundred candidates campaign again at the moment when one of them is answered, whatever is left of their backoff", async () => {
    const short = { initialBackoffMs: 100, maxBackoffMs: 100, jitter: 0 };
    const long = { initialBackoffMs: 60_000, maxBackoffMs: 60_000, jitter: 0 };
    const { elector, clock, election } = world.scripted("a", { groupId: "g0", retry: short });
    const others = Array.from({ length: 199 }, (_, index) => {
      const groupId = `g${index + 1}`;
      return new Election(elector, {
        groupId,
        nodeId: "a",
        ttlMs: 3000,
        clock,
        random: () => 0.5,
        retry: long,
      });
    });
    const all = [election, ...others];
    elector.always(out, "campaign");
    for (const each of all) void each.start();
    await world.clock.advance(5000);
    const asked = elector.made("campaign").length;
    elector.mend();
    // The next trial comes within a second; its answer ends the pauses of all others.
    await world.clock.advance(1001);
    const [trial, ...rest] = elector.made("campaign").slice(asked);
    expect(rest.map(({ atMs }) => atMs)).toEqual(others.map(() => trial?.atMs));
    expect(all.filter((each) => each.isLeader()).length).toBe(200);
    await world.until(Promise.all(all.map((each) => each.stop())));
  });

  test("a trial of an open breaker does not wait in the elector's queue", async () => {
    const leader = world.participant("leader");
    await leader.election.start();
    const a = world.scripted("a", { breaker: undefined, retry: { initialBackoffMs: 10, jitter: 0 } });
    const breaker = breakerOf(a.elector, a.clock);
    const b = world.scripted("b", { groupId: "h", breaker });
    a.elector.always(out, "campaign");
    await a.election.start();
    await world.clock.advance(800);
    expect(breaker.isOpen).toBe(true);
    a.elector.mend();
    void b.election.start();
    await world.clock.advance(2100);
    expect(breaker.isOpen).toBe(false);
    expect(b.election.isLeader()).toBe(true);
    expect(a.election.status().state).toEqual({ kind: "following" });
    await world.until(Promise.all([a, b, leader].map((each) => each.election.stop())));
  });

  test("renewals bypass the breaker: a leader tries for as long as it leads", async () => {
    const a = world.scripted("a");
    await a.election.start();
    const breaker = breakerOf(a.elector, a.clock);
    for (let i = 0; i < 5; i += 1) (await breaker.admit(new AbortController().signal))("failed");
    expect(breaker.isOpen).toBe(true);
    await world.clock.advance(900);
    expect(a.elector.made("renew").length).toBe(4);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });
});
