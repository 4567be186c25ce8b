/** A negative answer needs a fresh record: what a server whose feed lags may answer. */
import { expect, test } from "vitest";
import { BackendUnavailableError } from "../errors.js";
import { A, B, claimOf, failureOf, inWorld, type ScriptedStore, wonBy } from "./world.test-kit.js";

/** The first read is answered when the returned function is called, with the state as of now. */
function holdFirstAnswer(store: ScriptedStore): () => void {
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let reads = 0;
  store.onSync = async (apply) => {
    const isFirst = reads++ === 0;
    const revision = await apply();
    if (isFirst) await answered;
    return revision;
  };
  return answer;
}

test(
  "a renewal does not join a sync that was sent before the renewal came",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await w.clock.advance(0);
    const answer = holdFirstAnswer(two.store);
    two.plan.feedMs = [50, 50];
    const stranger = two.elector.renew({ groupId: "g", nodeId: "x", term: 1, ttlMs: 1000 });
    await w.clock.advance(0);
    expect(await one.elector.campaign(A)).toMatchObject({ kind: "elected" });
    const renewal = two.elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    answer();
    expect((await w.until(stranger)).value).toMatchObject({ kind: "not-leader" });
    expect((await w.until(renewal)).value).toMatchObject({ kind: "renewed" });
  }),
);

test(
  "a leader that renews at a server whose feed lags is renewed, not answered NOT_LEADER",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    for (let term = 1; term <= 4; term++) {
      await one.elector.campaign(B);
      await one.elector.resign(claimOf(B, term));
    }
    await w.clock.advance(0);
    two.plan.feedMs = [200, 200];
    await one.elector.campaign(A);
    const { value } = await w.until(two.elector.renew({ ...claimOf(A, 5), ttlMs: 1000 }));
    expect(value).toMatchObject({ kind: "renewed", leader: { nodeId: "a", term: 5 } });
  }),
);

test(
  "a stale server neither loses a campaign to a former leader nor denies a resign",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await one.elector.campaign(A);
    await w.clock.advance(0);
    two.plan.feedMs = [200, 200];
    await one.elector.resign(claimOf(A, 1));
    const won = await w.until(two.elector.campaign(B));
    expect(won.value).toMatchObject({ kind: "elected", leader: { nodeId: "b", term: 2 } });
    await one.elector.resign(claimOf(B, 2));
    await one.elector.campaign(A);
    expect((await w.until(two.elector.resign(claimOf(A, 3)))).value).toEqual({ kind: "resigned" });
  }),
);

test(
  "a server whose feed has stopped answers BackendUnavailableError, never NOT_LEADER",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await w.clock.advance(0);
    two.plan.feedStalledUntilMs = 60_000;
    await one.elector.campaign({ ...A, ttlMs: 60_000 });
    const claim = claimOf(A, 1);
    const stale = [
      () => two.elector.resign({ ...claim, nodeId: "x" }),
      () => two.elector.renew({ ...claim, term: 9, ttlMs: 1000 }),
      () => two.elector.leader("g"),
      () => two.elector.group("g"),
      () => two.elector.history("g"),
      () => two.elector.groups(),
    ];
    for (const ask of stale) {
      const { value, tookMs } = await w.until(failureOf(ask()));
      expect(value).toBeInstanceOf(BackendUnavailableError);
      expect(tookMs).toBeLessThanOrEqual(5000);
    }
    // An answer after the server's own write, or from a conflict's entry, needs no feed.
    expect((await w.until(two.elector.campaign(B))).value).toMatchObject({
      kind: "lost",
      leader: { nodeId: "a" },
    });
    expect((await w.until(two.elector.renew({ ...claim, ttlMs: 60_000 }))).value.kind).toBe("renewed");
    await w.clock.run({ untilMs: 61_000 });
    expect((await w.until(two.elector.leader("g"))).value.leader).toMatchObject({ nodeId: "a" });
  }),
);

test(
  "a read shows every write acknowledged before it, even over a feed that leaves values out",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    two.plan.feedMs = [0, 30];
    two.plan.coalesceRate = 0.9;
    for (let term = 1; term <= 60; term++) {
      expect(wonBy(await one.elector.campaign(A))).toBe("a");
      const read = two.elector.leader("g");
      await one.elector.renew({ ...claimOf(A, term), ttlMs: 1000 });
      expect((await w.until(read)).value.term).toBeGreaterThanOrEqual(term);
      await one.elector.resign(claimOf(A, term));
      expect((await w.until(two.elector.leader("g"))).value).toMatchObject({ leader: null, term });
    }
  }),
);

test(
  "a feed that broke is reopened, and no change is missing",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await one.elector.campaign({ ...A, ttlMs: 60_000 });
    await w.until(two.elector.leader("g"));
    two.plan.outageUntilMs = 500;
    two.feeds.breakFeeds();
    await one.elector.renew({ ...claimOf(A, 1), ttlMs: 60_000 });
    await one.elector.campaign({ ...B, groupId: "h" });
    await w.clock.advance(100);
    // Answered from memory, with the age of that state.
    expect(await two.elector.leader("h", { consistency: "local" })).toEqual({
      leader: null,
      term: 0,
      ageMs: 100,
    });
    await w.clock.advance(2000);
    expect((await w.until(two.elector.leader("h"))).value).toMatchObject({ term: 1 });
    expect((await w.until(two.elector.leader("g"))).value.leader).toMatchObject({ nodeId: "a" });
    // Changes arrive again without another call.
    const waiting = two.elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(10);
    await one.elector.resign(claimOf(A, 1));
    expect((await w.until(waiting)).value).toMatchObject({ kind: "elected", leader: { term: 2 } });
  }),
);

test(
  "a lease keeps its age across a broken feed: its time does not start again",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await one.elector.campaign(A);
    await w.clock.advance(0);
    await w.until(one.elector.close());
    await w.clock.advance(600);
    two.feeds.breakFeeds();
    await w.clock.advance(100);
    const { value, tookMs } = await w.until(two.elector.campaign({ ...B, waitMs: 60_000 }));
    expect(wonBy(value)).toBe("b");
    expect(tookMs).toBeLessThanOrEqual(1010 - 700);
  }),
);

test(
  "a group with an unreadable record is not answered for, and is served again once the record is readable",
  inWorld(async (w) => {
    const { elector } = w.server();
    await w.clock.advance(0);
    await w.truth.compareAndSet([{ key: "r/g", expected: null, value: '{"v":2}' }]);
    const verbs = [
      () => elector.leader("g"),
      () => elector.campaign(A),
      () => elector.campaign({ ...A, waitMs: 1000 }),
      () => elector.renew({ ...claimOf(A, 1), ttlMs: 1000 }),
      () => elector.stepDown({ groupId: "g", by: "ops" }),
      () => elector.watch("g")[Symbol.asyncIterator]().next(),
    ];
    for (const ask of verbs) {
      expect((await w.until(failureOf(ask()))).value).toBeInstanceOf(BackendUnavailableError);
    }
    // One damaged group does not affect others, and is not listed.
    expect(wonBy(await elector.campaign({ ...A, groupId: "h" }))).toBe("a");
    expect((await elector.groups()).groups.map(({ groupId }) => groupId)).toEqual(["h"]);
    const damaged = await w.entry("r/g");
    const whole = await w.entry("r/h");
    await w.truth.compareAndSet([
      { key: "r/g", expected: damaged?.revision ?? null, value: whole?.value ?? "" },
    ]);
    expect((await w.until(elector.leader("g"))).value.leader).toMatchObject({ nodeId: "a" });
  }),
);

test(
  "a store that shows an older state than before is not trusted",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign({ ...A, ttlMs: 60_000 });
    await w.clock.advance(0);
    const two = w.farServer();
    await w.clock.advance(0);
    // As after a restore from a backup: the feed breaks and returns with an older state.
    two.store.feed = async function* restored() {
      await Promise.resolve();
      yield { kind: "snapshot", entries: [], revision: 0 };
    };
    two.feeds.breakFeeds();
    two.store.onSync = () => Promise.resolve(1000);
    expect((await w.until(failureOf(two.elector.leader("g")))).value).toBeInstanceOf(BackendUnavailableError);
  }),
);
