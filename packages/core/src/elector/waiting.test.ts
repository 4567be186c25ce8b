import { expect, test } from "vitest";
import { decodeRecord } from "../codec.js";
import { GroupNotFoundError, InvalidTtlError } from "../errors.js";
import { DEFAULT_DRIFT_RATIO } from "../lease-time.js";
import { LedTerm, sendMoment } from "../leader/led-term.js";
import {
  A,
  B,
  C,
  claimOf,
  failureOf,
  Held,
  HOLD_MS,
  inWorld,
  lostAnswer,
  lostRequest,
  refused,
  silence,
  slowly,
  stateOf,
  wonBy,
} from "./world.test-kit.js";

test(
  "a waiting campaign keeps waiting after a grant that the store refused",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 10_000 });
    await w.clock.advance(0);
    store.next("r/", refused);
    const { value, tookMs } = await w.until(waiting, 30_000);
    expect(wonBy(value)).toBe("b");
    expect(tookMs).toBeLessThan(3000);
  }),
);

test(
  "no candidate is elected in a deleted group if groups must be created first",
  inWorld(async (w) => {
    const { elector } = w.server({ explicitGroups: true });
    await elector.createGroup({ groupId: "g" });
    await elector.campaign(A);
    const failure = failureOf(elector.campaign({ ...B, waitMs: 5000 }));
    await w.clock.advance(0);
    await elector.deleteGroup({ groupId: "g", by: "ops", force: true });
    expect((await w.until(failure)).value).toBeInstanceOf(GroupNotFoundError);
    expect((await w.record()).holder).toBeNull();
  }),
);

test(
  "waiting campaigns keep the order of their arrival across a conflict",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.farServer();
    await w.clock.advance(0);
    two.plan.feedStalledUntilMs = 10_000;
    await one.elector.campaign({ ...A, ttlMs: 5000 });
    const b = two.elector.campaign({ ...B, waitMs: 60_000 });
    const c = two.elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(0);
    await two.elector.resign({ groupId: "g", nodeId: "a", term: 1 });
    await w.clock.advance(0);
    expect([await stateOf(b), await stateOf(c)]).toEqual(["fulfilled", "pending"]);
  }),
);

test(
  "a waiting campaign wins in the write that ends the old lease, at the end of its hold",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    const { value, tookMs } = await w.until(elector.campaign({ ...B, waitMs: 60_000 }));
    expect(value).toMatchObject({ kind: "elected", leader: { nodeId: "b", term: 2 }, waitedMs: HOLD_MS });
    expect(tookMs).toBe(HOLD_MS);
    const { events } = await elector.history("g");
    expect(events.map(({ type, term, reason }) => [type, term, reason])).toEqual([
      ["LEADER_CHANGED", 1, "none"],
      ["LEADER_LOST", 1, "expired"],
      ["LEADER_CHANGED", 2, "expired"],
    ]);
  }),
);

test(
  "a wait ends as lost at its end, not earlier, and from a fresh record",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign({ ...A, ttlMs: 20_000 });
    const syncs = store.syncs;
    const { value, tookMs } = await w.until(elector.campaign({ ...B, waitMs: 700 }));
    expect(value).toMatchObject({ kind: "lost", leader: { nodeId: "a", term: 1 } });
    expect(tookMs).toBe(700);
    expect(store.syncs).toBeGreaterThan(syncs);
  }),
);

test(
  "a waiter named by a write in flight is not answered until the outcome of that write is known",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign({ ...A, ttlMs: 20_000 });
    const waiting = elector.campaign({ ...B, waitMs: 100 });
    await w.clock.advance(90);
    const held = new Held();
    store.next("r/", held.fate);
    const resign = elector.resign(claimOf(A, 1));
    await held.arrived;
    // The wait ends while the write that names its campaign is in flight.
    await w.clock.advance(50);
    expect(await stateOf(waiting)).toBe("pending");
    held.release();
    await w.clock.advance(0);
    expect(await stateOf(waiting)).toBe("fulfilled");
    expect(wonBy(await waiting)).toBe("b");
    expect(await resign).toEqual({ kind: "resigned" });
  }),
);

test(
  "a wait that is over sets no timers while a write in flight names its campaign",
  inWorld(async (w) => {
    let timers = 0;
    const after = w.clock.after.bind(w.clock);
    w.clock.after = (delayMs, callback) => {
      timers++;
      return after(delayMs, callback);
    };
    const { elector, store } = w.server();
    await elector.campaign({ ...A, ttlMs: 20_000 });
    const waiting = elector.campaign({ ...B, waitMs: 100 });
    await w.clock.advance(90);
    const held = new Held();
    store.next("r/", held.fate);
    const resign = elector.resign(claimOf(A, 1));
    await held.arrived;
    timers = 0;
    await w.clock.advance(150);
    expect(timers).toBeLessThan(10);
    held.release();
    expect(wonBy((await w.until(waiting)).value)).toBe("b");
    await resign;
  }),
);

test(
  "waitedMs of a winner ends when its write is sent, so a slow write does not extend the lease",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const sent = sendMoment(w.clock);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(500);
    store.next(
      "r/",
      slowly(w.clock, 200, (apply) => apply()),
    );
    const resign = elector.resign(claimOf(A, 1));
    const { value } = await w.until(waiting);
    await resign;
    expect(value).toMatchObject({ kind: "elected", waitedMs: 500 });
    const led = new LedTerm(2, w.clock, DEFAULT_DRIFT_RATIO);
    expect(led.extend({ sent, ttlMs: 1000, waitedMs: value.kind === "elected" ? value.waitedMs : 0 })).toBe(
      true,
    );
    // The leader has 990 ms from the send less the margin of the wait; the server holds the lease for 1010 ms from
    // there.
    expect(led.leftMs()).toBeLessThanOrEqual(990 - 200);
    await w.clock.advance(led.leftMs());
    expect((await w.record()).holder?.nodeId).toBe("b");
  }),
);

test(
  "after an uncertain grant a waiter is answered by another write, and leads the same term",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    store.next("r/", lostAnswer);
    const before = store.sentTo("r/");
    expect((await w.until(waiting)).value).toMatchObject({ kind: "elected", leader: { term: 2 } });
    expect(store.sentTo("r/")).toBe(before + 2);
    expect(await w.record()).toMatchObject({ term: 2, eventNumber: 3 });
  }),
);

test(
  "a waiter whose grant was never written wins with the next grant",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const b = elector.campaign({ ...B, waitMs: 60_000 });
    const c = elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(0);
    store.next("r/", lostRequest, 2);
    expect((await w.until(b)).value).toMatchObject({ kind: "elected", leader: { term: 2 } });
    expect(await stateOf(c)).toBe("pending");
  }),
);

test(
  "a grant that the store does not answer is decided again, and no candidate wins twice",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    store.next("r/", silence);
    const { value, tookMs } = await w.until(waiting);
    expect(value).toMatchObject({ kind: "elected", leader: { nodeId: "b", term: 2 } });
    expect(tookMs).toBeLessThan(HOLD_MS + 1000);
  }),
);

test(
  "a new campaign does not overtake a waiting one",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(0);
    // The lease is over, and the grant is in flight when another candidate campaigns.
    const held = new Held();
    store.next("r/", held.fate);
    await w.clock.advance(HOLD_MS);
    const newcomer = elector.campaign(C);
    held.release();
    expect(wonBy((await w.until(waiting)).value)).toBe("b");
    expect((await w.until(newcomer)).value).toMatchObject({ kind: "lost", leader: { nodeId: "b" } });
  }),
);

test(
  "a newcomer does not overtake a waiter behind another whose ttl the policy no longer allows",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.createGroup({ groupId: "g", policy: { minTtlMs: 100 } });
    await elector.campaign(A);
    // The default policy, which the deletion brings back, allows 500 ms and more.
    const short = failureOf(elector.campaign({ ...B, ttlMs: 200, waitMs: 60_000 }));
    const waiting = elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(0);
    const held = new Held();
    store.next("r/", held.fate);
    const deleted = elector.deleteGroup({ groupId: "g", by: "ops", force: true });
    await held.arrived;
    const newcomer = elector.campaign({ ...A, nodeId: "d", instanceId: "d1" });
    held.release();
    await deleted;
    expect(wonBy((await w.until(waiting)).value)).toBe("c");
    expect((await w.until(newcomer)).value).toMatchObject({ kind: "lost", leader: { nodeId: "c" } });
    expect((await w.until(short)).value).toBeInstanceOf(InvalidTtlError);
  }),
);

test(
  "a resignation goes in one write to the first waiter whose ttl the policy still allows",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.createGroup({ groupId: "g", policy: { minTtlMs: 100 } });
    await elector.campaign(A);
    const short = failureOf(elector.campaign({ ...B, ttlMs: 200, waitMs: 60_000 }));
    const waiting = elector.campaign({ ...C, waitMs: 60_000 });
    await w.clock.advance(0);
    await elector.updateGroup({ groupId: "g", policy: { minTtlMs: 500 } });
    let written: string | undefined;
    store.next("r/", (apply, op) => {
      written = decodeRecord(op.value).holder?.nodeId;
      return apply();
    });
    await elector.resign(claimOf(A, 1));
    expect(written).toBe("c");
    expect(wonBy((await w.until(waiting)).value)).toBe("c");
    expect((await w.until(short)).value).toBeInstanceOf(InvalidTtlError);
  }),
);
