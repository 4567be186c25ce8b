import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CancelTimer, Clock } from "../clock.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { DeadlineQueue, type QueuedItem } from "./deadline-queue.js";

interface Item extends QueuedItem {
  readonly id: number;
}

const item = (id: number): Item => ({ id, dueMs: Number.POSITIVE_INFINITY, heapIndex: -1, heapMs: 0 });

/** A manual clock that counts its timers: how many were set and how many are pending. */
class CountingClock implements Clock {
  readonly bootTickMs = 0;
  nowMs = 0;
  set = 0;
  standing = new Map<object, { readonly atMs: number; readonly callback: () => void }>();
  mostStanding = 0;

  monotonicMs(): number {
    return this.nowMs;
  }

  bootMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs;
  }

  soon(callback: () => void): void {
    queueMicrotask(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const key = {};
    this.set++;
    this.standing.set(key, { atMs: this.nowMs + delayMs, callback });
    this.mostStanding = Math.max(this.mostStanding, this.standing.size);
    return () => this.standing.delete(key);
  }

  /** Fires due timers in order on the way. */
  advanceTo(untilMs: number): void {
    for (;;) {
      const next = [...this.standing].sort(([, a], [, b]) => a.atMs - b.atMs)[0];
      if (next === undefined || next[1].atMs > untilMs) break;
      this.nowMs = Math.max(this.nowMs, next[1].atMs);
      this.standing.delete(next[0]);
      next[1].callback();
    }
    this.nowMs = untilMs;
  }
}

test("items due at the same time are called in slices of a hundred per turn", () => {
  const turns: (() => void)[] = [];
  const clock = new CountingClock();
  clock.soon = (callback) => void turns.push(callback);
  let handedOut = 0;
  const queue = new DeadlineQueue<Item>(clock, () => handedOut++);
  for (let id = 0; id < 250; id++) queue.set(item(id), 10);
  clock.advanceTo(10);
  const counts = [handedOut];
  for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
    // Items set meanwhile need no timer of their own.
    queue.set(item(1000 + counts.length), 20);
    expect(clock.standing.size).toBe(0);
    turn();
    counts.push(handedOut);
  }
  expect(counts).toEqual([100, 200, 250]);
  clock.advanceTo(20);
  expect(handedOut).toBe(252);
});

/** A naive model: each item once, sorted when read. */
class NaiveDeadlines {
  readonly #dueMs = new Map<number, number>();

  set(id: number, dueMs: number): void {
    this.#dueMs.set(id, dueMs);
  }

  /** The items due until then, in order of time; items with the same time in any order. */
  takeUntil(untilMs: number): readonly (readonly [dueMs: number, id: number])[] {
    const due = [...this.#dueMs].filter(([, dueMs]) => dueMs <= untilMs);
    for (const [id] of due) this.#dueMs.delete(id);
    return due.map(([id, dueMs]) => [dueMs, id] as const).sort(byTime);
  }
}

function byTime(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] - b[0] || a[1] - b[1];
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), id: fc.nat(9), inMs: fc.integer({ min: 0, max: 50 }) }),
  fc.record({ kind: fc.constant("drop" as const), id: fc.nat(9) }),
  fc.record({ kind: fc.constant("advance" as const), byMs: fc.integer({ min: 0, max: 30 }) }),
);

describe("a deadline queue", () => {
  test("a deadline queue calls each item at its time, like a sorted list, with one timer", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const clock = new CountingClock();
        const naive = new NaiveDeadlines();
        const called: [number, number][] = [];
        const queue = new DeadlineQueue<Item>(clock, ({ id }) => called.push([clock.nowMs, id]));
        const items = Array.from({ length: 10 }, (_, id) => item(id));
        for (const each of steps) {
          called.length = 0;
          if (each.kind === "advance") {
            const untilMs = clock.nowMs + each.byMs;
            // An item set to the current time is due now.
            clock.advanceTo(untilMs);
            expect(called.sort(byTime)).toEqual(naive.takeUntil(untilMs));
          } else {
            const dueMs = each.kind === "drop" ? Number.POSITIVE_INFINITY : clock.nowMs + each.inMs;
            queue.set(items[each.id] as Item, dueMs);
            naive.set(each.id, dueMs);
            expect(called).toEqual([]);
          }
        }
        expect(clock.mostStanding).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("items that are set again while they are called are called again, and none is lost", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 }), (periods) => {
        const clock = new CountingClock();
        const calls = periods.map(() => 0);
        const queue: DeadlineQueue<Item> = new DeadlineQueue<Item>(clock, (due) => {
          calls[due.id] = (calls[due.id] ?? 0) + 1;
          queue.set(due, clock.nowMs + (periods[due.id] ?? 1));
        });
        for (const [id, periodMs] of periods.entries()) queue.set(item(id), periodMs);
        clock.advanceTo(200);
        expect(calls).toEqual(periods.map((periodMs) => Math.floor(200 / periodMs)));
        expect(clock.mostStanding).toBe(1);
      }),
    );
  });

  test("moving a due time later sets no timer, and takes one step when the old time comes", () => {
    const clock = new CountingClock();
    const called: number[] = [];
    const queue = new DeadlineQueue<Item>(clock, () => called.push(clock.nowMs));
    const lease = item(0);
    queue.set(lease, 1000);
    for (let i = 1; i <= 10_000; i++) queue.set(lease, 1000 + i);
    expect(clock.set).toBe(1);
    clock.advanceTo(10_999);
    expect(clock.set).toBe(2);
    expect(called).toEqual([]);
    clock.advanceTo(11_000);
    expect(called).toEqual([11_000]);
  });

  test("renewals of many leases cost one timer per wake-up, not per renewal", () => {
    const clock = new CountingClock();
    const queue = new DeadlineQueue<Item>(clock, () => expect.unreachable());
    const leases = Array.from({ length: 1000 }, (_, id) => item(id));
    for (let nowMs = 0; nowMs < 10_000; nowMs += 100) {
      clock.advanceTo(nowMs);
      for (const lease of leases) queue.set(lease, nowMs + 1000);
    }
    // A lease costs the heap one step per ttl, however often it is renewed.
    expect(clock.set).toBeLessThanOrEqual(20);
  });

  test("an earlier due time replaces the pending timer", () => {
    const clock = new CountingClock();
    const called: [number, number][] = [];
    const queue = new DeadlineQueue<Item>(clock, ({ id }) => called.push([clock.nowMs, id]));
    queue.set(item(1), 500);
    queue.set(item(2), 100);
    expect([clock.set, clock.standing.size]).toEqual([2, 1]);
    clock.advanceTo(500);
    expect(called).toEqual([
      [100, 2],
      [500, 1],
    ]);
  });

  test("an item without a due time is never called and sets no timer", () => {
    const clock = new CountingClock();
    const queue = new DeadlineQueue<Item>(clock, () => expect.unreachable());
    const each = item(1);
    queue.set(each, Number.POSITIVE_INFINITY);
    expect(clock.set).toBe(0);
    queue.set(each, 100);
    queue.set(each, Number.POSITIVE_INFINITY);
    clock.advanceTo(10_000);
    expect(each.heapIndex).toBe(-1);
  });

  test("an item whose due time has passed is called soon, but not from within the call that sets it", async () => {
    const clock = new VirtualClock();
    await clock.advance(1000);
    let called = 0;
    const queue = new DeadlineQueue<Item>(clock, () => called++);
    queue.set(item(1), 5);
    expect(called).toBe(0);
    await clock.advance(0);
    expect(called).toBe(1);
  });

  test("a closed deadline queue calls no item and has no timer", () => {
    const clock = new CountingClock();
    const queue = new DeadlineQueue<Item>(clock, () => expect.unreachable());
    queue.set(item(1), 100);
    queue.close();
    queue.set(item(2), 50);
    expect(clock.standing.size).toBe(0);
    clock.advanceTo(1000);
  });
});

test("closing the queue leaves no timer, even if items handed out in slices were set again", async () => {
  const clock = new CountingClock();
  const queue: DeadlineQueue<Item> = new DeadlineQueue(clock, (due) =>
    queue.set(due, clock.nowMs + 60_000 - due.id),
  );
  for (let id = 0; id < 1000; id++) queue.set(item(id), 10);
  clock.advanceTo(10);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  expect(clock.standing.size).toBe(1);
  queue.close();
  expect(clock.standing.size).toBe(0);
});
