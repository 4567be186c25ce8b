/** How long a lease lasts, and what does not change it. */
import { describe, expect, test } from "vitest";
import { DEFAULT_DRIFT_RATIO } from "../lease-time.js";
import { LedTerm, sendMoment } from "../leader/led-term.js";
import {
  A,
  B,
  C,
  claimOf,
  Held,
  HOLD_MS,
  inWorld,
  late,
  lostAnswer,
  refused,
  stateOf,
  wonBy,
} from "./world.test-kit.js";

test(
  "a lease lasts ttl·(1+ρ) from the decision that granted it, and not a millisecond longer",
  inWorld(async (w) => {
    const one = w.server();
    await one.elector.campaign(A);
    await w.clock.advance(HOLD_MS - 1);
    expect((await w.until(one.elector.campaign(B))).value).toMatchObject({
      kind: "lost",
      leader: { nodeId: "a" },
    });
    await w.clock.advance(1);
    expect(wonBy((await w.until(one.elector.campaign(B))).value)).toBe("b");
  }),
);

test(
  "a restarted elector waits a full hold, however long the lease had run before",
  inWorld(async (w) => {
    const one = w.server();
    await one.elector.campaign(A);
    await w.clock.advance(900);
    await w.until(one.elector.close());
    await w.clock.advance(5000);
    const two = w.server();
    const { value, tookMs } = await w.until(two.elector.campaign({ ...B, waitMs: 60_000 }));
    expect(value).toMatchObject({ kind: "elected", leader: { nodeId: "b", term: 2 } });
    expect(tookMs).toBe(HOLD_MS);
  }),
);

test(
  "a restarted elector counts bans, pauses and transfers from what was left: longer, never shorter",
  inWorld(async (w) => {
    const one = w.server();
    await one.elector.campaign(A);
    await one.elector.stepDown({ groupId: "g", by: "ops", banMs: 3000, force: true });
    await w.clock.advance(2000);
    await w.until(one.elector.close());
    const two = w.server();
    const { value, tookMs } = await w.until(two.elector.campaign({ ...A, waitMs: 60_000 }));
    expect(wonBy(value)).toBe("a");
    expect(tookMs).toBe(3000);
  }),
);

test(
  "writes of other nodes do not extend a dead leader's lease",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(A);
    const waiting = elector.campaign({ ...B, waitMs: 60_000 });
    for (let i = 0; i < 8; i++) {
      await w.clock.advance(120);
      await elector.updateGroup({ groupId: "g", policy: { retry: { initialMs: 100 + i } } });
    }
    const { tookMs } = await w.until(waiting);
    expect(8 * 120 + tookMs).toBeLessThanOrEqual(HOLD_MS + 1);
  }),
);

test(
  "a renewal restarts neither a ban, nor a pause, nor the limit of a transfer",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign(B);
    await elector.stepDown({ groupId: "g", by: "ops", banMs: 2000, force: true });
    await elector.campaign(A);
    await elector.pause({ groupId: "g", forMs: 2000 });
    for (let i = 0; i < 20; i++) {
      await w.clock.advance(100);
      await elector.renew({ ...claimOf(A, 2), ttlMs: 1000 });
    }
    expect(await w.record()).toMatchObject({ bans: [], pause: null });
  }),
);

describe.each([3_600_000, -3_600_000])("a wall clock that jumps by %i ms", (jumpMs) => {
  test(
    "a jump of the wall clock changes no lease, wait, ban or pause",
    inWorld(async (w) => {
      const process = w.clock.process();
      const { elector } = w.server({ clock: process });
      await elector.campaign(A);
      const waiting = elector.campaign({ ...B, waitMs: 60_000 });
      await w.clock.advance(500);
      process.stepWall(jumpMs);
      expect((await w.until(elector.campaign(C))).value.kind).toBe("lost");
      const { value, tookMs } = await w.until(waiting);
      expect(value).toMatchObject({ kind: "elected", waitedMs: HOLD_MS });
      expect(tookMs).toBe(HOLD_MS - 500);
      await elector.stepDown({ groupId: "g", by: "ops", banMs: 2000, force: true });
      process.stepWall(-jumpMs);
      const banned = await w.until(elector.campaign({ ...B, waitMs: 60_000 }));
      expect(wonBy(banned.value)).toBe("b");
      expect(banned.tookMs).toBe(2000);
      await elector.renew({ ...claimOf(B, 3), ttlMs: 1000 });
      process.stepWall(jumpMs);
      expect((await elector.leader("g")).leader).toMatchObject({ nodeId: "b", term: 3 });
    }),
  );

  test(
    "servers whose wall clocks differ by the jump agree on leases",
    inWorld(async (w) => {
      const one = w.server({ clock: w.clock.process({ wallOffsetMs: jumpMs }) });
      const two = w.server({ clock: w.clock.process({ wallOffsetMs: -jumpMs }) });
      await one.elector.campaign(A);
      const { value, tookMs } = await w.until(two.elector.campaign({ ...B, waitMs: 60_000 }));
      expect(wonBy(value)).toBe("b");
      expect(tookMs).toBeGreaterThanOrEqual(HOLD_MS);
      expect(tookMs).toBeLessThanOrEqual(HOLD_MS + 5);
    }),
  );
});

test(
  "a late resign ends a term in which its own process was confirmed meanwhile, and the process stops leading",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(C);
    await one.elector.resign(claimOf(C, 1));
    const led = new LedTerm(2, w.clock, DEFAULT_DRIFT_RATIO);
    led.extend({ sent: sendMoment(w.clock), ttlMs: 1000 });
    await one.elector.campaign(A);
    const waiting = two.elector.campaign({ ...B, waitMs: 60_000 });
    await w.clock.advance(10);
    // The resign is slow on its way, and this process has stopped leading the term for good.
    led.end();
    one.store.next("r/", late(w.clock, 90));
    const letSyncs = one.store.holdSyncs();
    const resign = one.elector.resign(claimOf(A, 2));
    await w.clock.advance(50);
    const sent = sendMoment(w.clock);
    expect((await w.until(two.elector.campaign(A))).value).toMatchObject({
      kind: "elected",
      confirmed: true,
      leader: { term: 2 },
    });
    expect(led.extend({ sent, ttlMs: 1000 })).toBe(false);
    letSyncs();
    expect((await w.until(resign)).value).toEqual({ kind: "resigned" });
    expect((await w.until(waiting)).value).toMatchObject({ kind: "elected", leader: { term: 3 } });
    expect(led.isInside()).toBe(false);
    await w.clock.advance(200);
    expect(await w.record()).toMatchObject({ term: 3, holder: { nodeId: "b" } });
  }),
);

test(
  "a resign from an earlier start of a process does not end the term of the later one",
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign({ ...A, instanceId: "a2" });
    expect(await elector.resign(claimOf(A, 1))).toMatchObject({ kind: "not-leader" });
    expect(await w.record()).toMatchObject({ holder: { instanceId: "a2" } });
  }),
);

test(
  "a confirmation is a write: the lease that it reports is in the store before the answer",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    await w.clock.advance(600);
    const held = new Held();
    store.next("r/", held.fate);
    const confirmation = elector.campaign(A);
    await held.arrived;
    await w.clock.advance(100);
    expect(await stateOf(confirmation)).toBe("pending");
    held.release();
    expect(await confirmation).toMatchObject({ kind: "elected", confirmed: true });
    // The hold counts from the decision of the confirmation.
    await w.clock.advance(HOLD_MS - 101);
    expect((await w.until(elector.campaign(B))).value.kind).toBe("lost");
    await w.clock.advance(1);
    expect(wonBy((await w.until(elector.campaign(B))).value)).toBe("b");
  }),
);

test(
  "after an uncertain campaign, a candidate found in the record still needs one more write to get the lease",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    store.next("r/", lostAnswer);
    const letSyncs = store.holdSyncs();
    const campaign = elector.campaign(A);
    await w.clock.advance(200);
    letSyncs();
    expect((await w.until(campaign)).value).toMatchObject({ kind: "elected", leader: { term: 1 } });
    expect(store.sentTo("r/")).toBe(2);
    // A full hold from the second write.
    await w.clock.advance(HOLD_MS - 1);
    expect((await w.until(elector.campaign(B))).value.kind).toBe("lost");
  }),
);

test(
  "a deposed holder is neither confirmed nor renewed, and its lease ends at its old time",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    await w.clock.advance(400);
    await two.elector.stepDown({ groupId: "g", by: "ops" });
    for (let i = 0; i < 6; i++) {
      await w.clock.advance(100);
      const at = i % 2 === 0 ? one.elector : two.elector;
      expect((await w.until(at.campaign(A))).value).toMatchObject({ kind: "lost", heldBack: "deposed" });
      expect((await w.until(at.renew({ ...claimOf(A, 1), ttlMs: 1000 }))).value.kind).toBe("not-leader");
    }
    const { tookMs } = await w.until(two.elector.campaign({ ...B, waitMs: 60_000 }));
    expect(1000 + tookMs).toBeLessThanOrEqual(HOLD_MS + 1);
    expect((await two.elector.history("g")).events.at(-1)).toMatchObject({
      reason: "deposed",
      leaderNodeId: "b",
    });
  }),
);

test(
  "reads return what the record says, even after the lease has expired",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    await w.clock.advance(10);
    store.always("r/", refused);
    await w.clock.advance(5000);
    expect((await w.until(elector.leader("g"))).value.leader).toMatchObject({ nodeId: "a", term: 1 });
    expect((await w.until(elector.group("g"))).value.leader).toMatchObject({ nodeId: "a" });
  }),
);
