import { BackendUnavailableError, ClosedError, UnauthorizedError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { answeredAfter, out, refused, silence } from "./scripted-elector.test-kit.js";
import { failureOf, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

/** Random numbers that are always at their upper end. */
const FULL = { random: () => 1 - Number.EPSILON };

describe("Campaigns that fail", () => {
  test("failed campaigns are repeated forever with growing pauses up to the longest, and start resolves at the first", async () => {
    const a = world.scripted("a", {
      ...FULL,
      breaker: undefined,
      retry: { initialBackoffMs: 100, multiplier: 3, maxBackoffMs: 1500, jitter: 1 },
    });
    a.elector.always(out, "campaign");
    await a.election.start();
    await world.clock.advance(1000);
    const times = a.elector.made("campaign").map(({ atMs }) => Math.round(atMs));
    expect(times).toEqual([0, 100, 400]);
    await world.clock.advance(60_000);
    expect(a.elector.made("campaign").length).toBeGreaterThan(40);
    a.elector.mend();
    await world.clock.advance(1500);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });

  test("retry.maxAttempts failures in a row end the election, and a success in between resets the count", async () => {
    const b = world.participant("b");
    await b.election.start();
    const a = world.scripted("a", { campaignWaitMs: 1000, retry: { maxAttempts: 3, jitter: 0 } });
    a.elector.next("campaign", out, 2);
    await a.election.start();
    await world.clock.advance(1000);
    // The third campaign is waiting, and will be answered.
    a.elector.always(out, "campaign");
    const campaigns = () => a.elector.made("campaign").length;
    expect(campaigns()).toBe(3);
    while (campaigns() < 5) await world.clock.advance(10);
    expect(a.election.status().state.kind).toBe("following");
    while (campaigns() < 6) await world.clock.advance(10);
    expect(a.election.status().state).toMatchObject({
      kind: "failed",
      error: { code: "ATTEMPTS_EXHAUSTED", cause: { code: "BACKEND_UNAVAILABLE" } },
    });
    expect(a.election.isLeader()).toBe(false);
    await world.until(b.election.stop());
  });

  test.each(["INVALID_REQUEST", "INVALID_TTL", "UNAUTHORIZED", "UNAUTHENTICATED", "GROUP_NOT_FOUND"])(
    "%s as the first answer ends the election; later it is retried after the longest pause",
    async (code) => {
      const error = Object.assign(new Error("refused"), { code });
      const first = world.scripted("a");
      first.elector.next("campaign", refused(error));
      expect(await failureOf(first.election.start())).toBe(error);
      expect(first.election.status().state).toEqual({ kind: "failed", error });

      const later = world.scripted("b", { ...FULL, retry: { maxBackoffMs: 2000 } });
      later.elector.next("campaign", out);
      later.elector.next("campaign", refused(error));
      await later.election.start();
      await world.clock.advance(2099);
      expect(later.elector.made("campaign").length).toBe(2);
      await world.clock.advance(2);
      expect(later.election.isLeader()).toBe(true);
      await world.until(later.election.stop());
    },
  );

  test.each([
    ["waits in the elector's queue", {}],
    ["waits for its watch, with a takeover delay", { takeoverDelayMs: 400 }],
  ])("an election that %s fails when its elector is closed", async (_how, options) => {
    const leader = world.participant("a");
    const own = world.elector();
    const b = world.participant("b", options, () => own);
    await leader.election.start();
    await b.election.start();
    await world.clock.advance(100);
    const failed = failureOf(b.election.untilLeader());
    void own.close();
    await world.clock.advance(6000);
    expect(await failed).toBeInstanceOf(ClosedError);
    expect(b.election.status().state).toMatchObject({ kind: "failed", error: { code: "CLOSED" } });
    await world.until(leader.election.stop());
  });

  test("a leader whose elector is closed steps down as refused, and then fails", async () => {
    const own = world.elector();
    const a = world.participant("a", {}, () => own);
    await a.election.start();
    void own.close();
    await world.clock.advance(6000);
    expect(a.log).toEqual(["promote 1", "abort", "demote refused"]);
    expect(a.election.status().state).toMatchObject({ kind: "failed", error: { code: "CLOSED" } });
  });

  test("a campaign that is answered CLOSED fails the election, even if its watch is only silent", async () => {
    const a = world.scripted("a", { campaignWaitMs: 0 });
    a.elector.next("campaign", out);
    await world.until(a.election.start());
    a.elector.always(refused(new ClosedError("the elector is closed")), "campaign");
    await world.clock.advance(6000);
    expect(a.election.status().state).toMatchObject({ kind: "failed", error: { code: "CLOSED" } });
  });

  test("a campaign refused before a vacancy and answered after it is repeated at once", async () => {
    const a = world.participant("a");
    const b = world.scripted("b", { campaignWaitMs: 0 });
    await a.election.start();
    b.elector.next("campaign", answeredAfter(b.clock, 50));
    const started = b.election.start();
    await world.clock.advance(20);
    await world.until(a.election.stop());
    expect(b.election.status()).toMatchObject({ leaderId: null });
    await world.clock.advance(50);
    await started;
    expect(b.election.isLeader()).toBe(true);
    expect(b.elector.made("campaign").length).toBe(2);
    await world.until(b.election.stop());
  });

  test("a campaign waits for the retryAfterMs that the service asks for", async () => {
    const a = world.scripted("a", { retry: { jitter: 0 } });
    a.elector.next(
      "campaign",
      refused(Object.assign(new BackendUnavailableError("too many"), { retryAfterMs: 700 })),
    );
    await a.election.start();
    await world.clock.advance(699);
    expect(a.elector.made("campaign").length).toBe(1);
    await world.clock.advance(2);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });

  // Not sooner: the candidate has no lease to lose, and an abandoned campaign may have been won.
  test("a campaign without an answer is abandoned after its wait and half the ttl", async () => {
    const a = world.scripted("a", { connectionTimeoutMs: 120, retry: { jitter: 0 } });
    a.elector.next("campaign", silence);
    const { tookMs } = await world.until(a.election.start());
    expect(tookMs).toBe(500);
    expect(a.election.status().connection).toBe("disconnected");
    await world.until(a.election.stop());
  });

  test("an election whose newId throws at its promotion stops leading and keeps no lease", async () => {
    let ids = 0;
    const a = world.scripted("a", {
      newId: () => {
        ids += 1;
        if (ids > 1) throw new Error("no entropy");
        return "first";
      },
    });
    await failureOf(a.election.start());
    expect(a.election.isLeader()).toBe(false);
    await world.clock.advance(1011);
    expect(a.elector.made("renew")).toEqual([]);
    const result = await world.operator.campaign({ groupId: "g", nodeId: "next", ttlMs: 1000 });
    expect(result.kind).toBe("elected");
  });
});

describe("Waiting for the leadership", () => {
  test("a candidate in the elector's queue campaigns again at once when its wait ends without the leadership, also if clocks differ in rate", async () => {
    const a = world.participant("a");
    await a.election.start();
    // The elector's clock runs as fast as allowed, this process's clock as slow.
    const slow = world.clock.process({ rate: 0.99 });
    const b = world.scripted("b", { clock: slow, campaignWaitMs: 5000 });
    b.clock.setRate(1.01);
    await b.election.start();
    await world.clock.advance(30_000);
    const campaigns = b.elector.made("campaign");
    expect(campaigns.length).toBeGreaterThanOrEqual(7);
    const gaps = campaigns.slice(2).map(({ atMs }, i) => atMs - (campaigns[i + 1]?.atMs ?? 0));
    for (const gapMs of gaps) expect(gapMs).toBeLessThan(5010);
    expect(b.election.isLeader()).toBe(false);
    await world.until(Promise.all([a.election.stop(), b.election.stop()]));
  });

  // A wait of an hour would leave nothing of a lease of one second: two clocks with 1 % drift differ by more.
  test("the first lease after the longest wait in the elector's queue lasts until it is renewed", async () => {
    const a = world.participant("a");
    await a.election.start();
    const slow = world.clock.process({ rate: 0.99 });
    const b = world.scripted("b", { ttlMs: 500, clock: slow, campaignWaitMs: 60_000 });
    b.clock.setRate(1.01);
    await b.election.start();
    await world.clock.advance(59_000);
    expect(b.elector.made("campaign").at(-1)?.waitMs).toBe(6250);
    await world.until(a.election.stop());
    await world.clock.advance(10_000);
    expect(b.election.isLeader()).toBe(true);
    expect(b.election.status().term).toBe(2);
    await world.until(b.election.stop());
  });

  test("with campaignWaitMs 0 a vacancy seen by the watch is campaigned for at once, and not before", async () => {
    const a = world.participant("a");
    const b = world.scripted("b", { campaignWaitMs: 0 });
    await a.election.start();
    await b.election.start();
    await world.clock.advance(500);
    expect(b.elector.made("campaign").map(({ waitMs }) => waitMs)).toEqual([0]);
    await world.until(a.election.stop());
    await world.clock.advance(1);
    expect(b.election.isLeader()).toBe(true);
    expect(b.elector.made("campaign").every(({ waitMs }) => waitMs === 0)).toBe(true);
    await world.until(b.election.stop());
  });

  test("a candidate that waits by its watch succeeds a crashed leader as soon as the lease is over", async () => {
    const a = world.distant("a");
    const b = world.scripted("b", { campaignWaitMs: 0 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    a.clock.kill();
    a.store.abandon();
    await world.clock.advance(1015);
    expect(b.election.isLeader()).toBe(true);
    await world.until(b.election.stop());
  });

  test("a candidate that waits by its watch campaigns when the takeover delay is over", async () => {
    await world.operator.createGroup({ groupId: "g", policy: { takeoverDelayMs: 300 } });
    const a = world.distant("a");
    const b = world.scripted("b", { campaignWaitMs: 0 });
    await world.until(a.election.start());
    await world.until(b.election.start());
    a.clock.kill();
    a.store.abandon();
    await world.clock.advance(1015 + 290);
    expect(b.election.isLeader()).toBe(false);
    await world.clock.advance(20);
    expect(b.election.isLeader()).toBe(true);
    await world.until(b.election.stop());
  });

  test("an election does not campaign in a loop for a paused group", async () => {
    await world.operator.createGroup({ groupId: "g" });
    await world.operator.pause({ groupId: "g" });
    const all = [{}, { campaignWaitMs: 0 }, { takeoverDelayMs: 500 }].map((options, i) =>
      world.scripted(`n${i}`, options),
    );
    for (const each of all) await world.until(each.election.start());
    await world.clock.advance(10_000);
    for (const each of all) expect(each.elector.made("campaign").length).toBeLessThan(12);
    await world.operator.resume({ groupId: "g" });
    await world.clock.advance(10_000);
    expect(all.filter((each) => each.election.isLeader()).length).toBe(1);
    await world.until(Promise.all(all.map((each) => each.election.stop())));
  });
});

describe("A paused group", () => {
  test("an election campaigns for a paused group as often as the elector asks for, at least every 5 s, and leads soon after the group is resumed", async () => {
    await world.operator.createGroup({ groupId: "g" });
    await world.operator.pause({ groupId: "g" });
    const a = world.scripted("a", { campaignWaitMs: 0 });
    await world.until(a.election.start());
    await world.clock.advance(60_000);
    const campaigns = a.elector.made("campaign");
    const gaps = campaigns.slice(1).map(({ atMs }, i) => atMs - (campaigns[i]?.atMs ?? 0));
    for (const gapMs of gaps) expect(gapMs).toBeLessThanOrEqual(5001);
    await world.operator.resume({ groupId: "g" });
    await world.clock.advance(5001);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });
});

describe("An operator's actions", () => {
  test("a transfer makes the leader yield to its successor, ahead of other waiting candidates", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    const c = world.participant("c");
    for (const each of [a, b, c]) await each.election.start();
    await world.clock.advance(10);
    const moved = world.operator.transfer({ groupId: "g", toNodeId: "c", by: "op" });
    const { value, tookMs } = await world.until(moved);
    expect(value).toMatchObject({ nodeId: "c", term: 2 });
    expect(tookMs).toBeLessThanOrEqual(200);
    expect(a.log).toEqual(["promote 1", "abort", "demote transferred"]);
    expect(c.election.isLeader()).toBe(true);
    expect(b.log).toEqual([]);
    await world.until(Promise.all([a, b, c].map((each) => each.election.stop())));
  });

  test("a step-down ends the leadership at the next renewal, and a ban keeps the node from winning", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    await world.operator.stepDown({ groupId: "g", by: "op", banMs: 5000 });
    await world.clock.advance(201);
    expect(a.log).toEqual(["promote 1", "abort", "demote not-leader"]);
    expect(b.election.term()).toBe(2);
    await world.until(b.election.stop());
    await world.clock.advance(3000);
    expect(a.election.isLeader()).toBe(false);
    await world.clock.advance(3000);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });

  test("while a group is paused no candidate wins, and the leader keeps its lease", async () => {
    const a = world.participant("a");
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    await world.operator.pause({ groupId: "g" });
    await world.clock.advance(5000);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
    await world.clock.advance(5000);
    expect(b.election.isLeader()).toBe(false);
    await world.operator.resume({ groupId: "g" });
    await world.clock.advance(10);
    expect(b.election.isLeader()).toBe(true);
    await world.until(b.election.stop());
  });
});

describe("Priority", () => {
  test("with priorityTakeover a candidate of higher priority takes over from a leader of lower priority", async () => {
    const low = world.participant("low", { priority: 1, priorityTakeover: true });
    const high = world.participant("high", { priority: 9, priorityTakeover: true });
    await low.election.start();
    await high.election.start();
    expect(high.election.isLeader()).toBe(false);
    await world.clock.advance(300);
    expect(high.election.term()).toBe(2);
    expect(low.log).toEqual(["promote 1", "abort", "demote transferred"]);
    await world.clock.advance(5000);
    expect(high.election.isLeader()).toBe(true);
    await world.until(Promise.all([low.election.stop(), high.election.stop()]));
  });

  test("the policy of priorityTakeover is set by a later attempt if the first failed", async () => {
    const a = world.distant("a", { priorityTakeover: true });
    a.plan.outageUntilMs = 500;
    await world.until(a.election.start());
    await world.clock.advance(3000);
    expect(a.election.isLeader()).toBe(true);
    expect((await world.operator.group("g")).policy).toMatchObject({ strategy: "priority", preempt: true });
    await world.until(a.election.stop());
  });

  test("priorityTakeover is refused with advice if the elector has no policies or the rights are missing", async () => {
    const a = world.scripted("a", { priorityTakeover: true });
    expect(await failureOf(a.election.start())).toMatchObject({
      code: "INVALID_REQUEST",
      field: "priorityTakeover",
    });
    const b = world.participant("b", { priorityTakeover: true }, (elector) =>
      Object.assign(Object.create(elector) as typeof elector, {
        createGroup: () => Promise.reject(new UnauthorizedError("no")),
      }),
    );
    expect(await failureOf(b.election.start())).toMatchObject({
      field: "priorityTakeover",
      cause: { code: "UNAUTHORIZED" },
    });
  });
});
