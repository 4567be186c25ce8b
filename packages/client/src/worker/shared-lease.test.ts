import { sendMoment } from "@tenure/core";
import { type ProcessClock, VirtualClock } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import { SharedLease } from "./shared-lease.js";
import { ENDED, LAPSED, LED, NOT_LEADER } from "./term-memory.js";

const TTL_MS = 1000;
const STALL_LIMIT_MS = 3000;
const OFFSET = { atLeastMs: 500, atMostMs: 501 };

interface Scene {
  readonly world: VirtualClock;
  readonly clock: ProcessClock;
  readonly lease: SharedLease;
  readonly told: string[];
  /** What the other thread does after a renewal. */
  readonly renew: (leftMs: number) => void;
}

function led(stallLimitMs: number = STALL_LIMIT_MS): Scene {
  const world = new VirtualClock();
  const clock = world.process();
  const told: string[] = [];
  const notLeader = () => void told.push("not leader");
  const lease = new SharedLease({ term: 7, clock, driftRatio: 0.01, stallLimitMs, notLeader }, OFFSET);
  expect(lease.begin({ sent: sendMoment(clock), ttlMs: TTL_MS })).toBe(true);
  const renew = (leftMs: number) =>
    lease.memory.deadline.write(clock.monotonicMs() + OFFSET.atLeastMs + leftMs, clock.bootMs() + leftMs);
  return { world, clock, lease, told, renew };
}

describe("SharedLease", () => {
  test("a shared lease begins with the campaign's deadline, or not at all if that has passed", async () => {
    const { world, clock, lease } = led();
    expect(lease.isInside()).toBe(true);
    expect(lease.leftMs()).toBeLessThanOrEqual(990);
    expect(lease.leftMs()).toBeGreaterThan(970);
    const sent = sendMoment(clock);
    await world.advance(TTL_MS);
    expect(lease.isInside()).toBe(false);
    const late = new SharedLease(
      { term: 8, clock, driftRatio: 0.01, stallLimitMs: STALL_LIMIT_MS, notLeader: () => {} },
      OFFSET,
    );
    expect(late.begin({ sent, ttlMs: TTL_MS })).toBe(false);
  });

  test("a shared lease is inside on the first look after a stall in which the other thread renewed", async () => {
    const { world, lease, renew } = led();
    await world.advance(900);
    renew(990);
    await world.advance(900);
    renew(990);
    await world.advance(900);
    expect(lease.isInside()).toBe(true);
    await world.advance(100);
    expect(lease.isInside()).toBe(false);
  });

  test("a shared lease is over for both threads and for good after a stall beyond the limit, before its deadline", async () => {
    const { world, lease, renew } = led();
    renew(STALL_LIMIT_MS * 2);
    await world.advance(STALL_LIMIT_MS - 1);
    expect(lease.isInside()).toBe(true);
    await world.advance(1);
    expect(lease.isInside()).toBe(false);
    expect(lease.memory.state).toBe(LAPSED);
    lease.sign(true);
    renew(60_000);
    expect(lease.isInside()).toBe(false);
    expect(lease.leftMs()).toBe(0);
  });

  test("a shared lease is not restored by a heartbeat after the limit", async () => {
    const { world, lease, renew } = led();
    renew(STALL_LIMIT_MS * 2);
    await world.advance(STALL_LIMIT_MS);
    lease.sign(true);
    expect(lease.isInside()).toBe(false);
  });

  test("a shared lease lasts while each heartbeat of the main thread comes in time", async () => {
    const { world, lease, renew } = led();
    renew(60_000);
    for (let i = 0; i < 5; i++) {
      await world.advance(STALL_LIMIT_MS - 1);
      lease.sign(true);
    }
    expect(lease.isInside()).toBe(true);
  });

  test("leftMs of a shared lease does not depend on the stall limit", () => {
    const { lease } = led(10);
    expect(lease.leftMs()).toBeGreaterThan(970);
  });

  test("a shared lease ends with a suspend that the monotonic clock does not show", async () => {
    const { world, clock, lease } = led();
    clock.suspend();
    await world.advance(TTL_MS);
    clock.resume();
    expect(lease.isInside()).toBe(false);
  });

  test("a shared lease ended by this thread is marked as ended for the other", () => {
    const { lease } = led();
    lease.end();
    expect(lease.isInside()).toBe(false);
    expect(lease.memory.state).toBe(ENDED);
    lease.memory.end(LAPSED);
    expect(lease.memory.state).toBe(ENDED);
  });

  test("a shared lease ended by the other thread is over here at once, even right after a look inside", () => {
    const { lease, told } = led();
    expect(lease.isInside()).toBe(true);
    expect(lease.memory.state).toBe(LED);
    lease.memory.end(NOT_LEADER);
    expect(lease.isInside()).toBe(false);
    expect(told).toEqual(["not leader"]);
  });

  test("a shared lease ends earlier if the offset of the threads' clocks is not exactly known", async () => {
    const { world, clock, lease } = led();
    // The other thread's deadline is in 100 ms at the earliest.
    lease.memory.deadline.write(clock.monotonicMs() + OFFSET.atLeastMs + 100, clock.bootMs() + 10_000);
    await world.advance(98);
    expect(lease.isInside()).toBe(true);
    await world.advance(1);
    expect(lease.isInside()).toBe(false);
  });
});
