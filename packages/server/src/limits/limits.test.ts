import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import type { Caller } from "../auth/caller.js";
import { RateLimiter } from "./rate-limiter.js";
import { WaitingRoom } from "./waiting-room.js";

describe("RateLimiter", () => {
  const admitted = (limiter: RateLimiter, caller: string, times: number): number => {
    let count = 0;
    for (let asked = 0; asked < times; asked++) {
      try {
        limiter.admit(caller);
        count++;
      } catch (error) {
        expect(error).toMatchObject({ code: "RATE_LIMITED" });
      }
    }
    return count;
  };

  test("a rate limit allows a second's worth at once, and then the rate per second", async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(10, clock.process());
    expect(admitted(limiter, "a", 50)).toBe(10);
    expect(admitted(limiter, "b", 5)).toBe(5);
    await clock.advance(500);
    expect(admitted(limiter, "a", 50)).toBe(5);
    await clock.advance(60_000);
    expect(admitted(limiter, "a", 50)).toBe(10);
  });

  test("a rate limit counts the items of a request, and a debt has to be waited for", async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(10, clock.process());
    expect(admitted(limiter, "a", 10)).toBe(10);
    limiter.charge("a", 14);
    await clock.advance(1400);
    expect(admitted(limiter, "a", 1)).toBe(0);
    await clock.advance(100);
    expect(admitted(limiter, "a", 5)).toBe(1);
    expect(admitted(limiter, "b", 5)).toBe(5);
  });

  test("a rate limit returns how long to wait for a debt, up to a bound", async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(10, clock.process());
    const retryAfter = (seconds: number) => expect.objectContaining({ retryAfterSeconds: seconds }) as Error;
    limiter.charge("a", 30);
    expect(() => limiter.admit("a")).toThrow(retryAfter(3));
    await clock.advance(1500);
    expect(() => limiter.check("a")).toThrow(retryAfter(1));
    limiter.charge("a", 1e9);
    expect(() => limiter.admit("a")).toThrow(retryAfter(61));
    await clock.advance(60_100);
    limiter.admit("a");
  });

  test("a rate limit is not lifted by constant requests", async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(2, clock.process());
    let count = 0;
    for (let ms = 0; ms < 10_000; ms += 10) {
      count += admitted(limiter, "a", 1);
      await clock.advance(10);
    }
    expect(count).toBeGreaterThanOrEqual(20);
    expect(count).toBeLessThanOrEqual(22);
  });

  test("a rate limit remembers a limited number of callers", () => {
    const limiter = new RateLimiter(1, new VirtualClock().process());
    expect(admitted(limiter, "first", 2)).toBe(1);
    for (let index = 0; index < 10_000; index++) admitted(limiter, `caller-${index}`, 1);
    expect(admitted(limiter, "first", 2)).toBe(1);
    expect(admitted(limiter, "caller-9999", 1)).toBe(0);
  });
});

describe("WaitingRoom", () => {
  const FULL = expect.objectContaining({ code: "TOO_MANY_WAITING" }) as Error;
  const admin: Caller = { kind: "admin-token", role: "admin", name: "admin-token" };
  const node = (name: string): Caller => ({ kind: "jwt", role: "node", name, groups: null });
  const roomOf = (max: number, maxPerCaller: number) =>
    new WaitingRoom({
      watches: { max, maxPerCaller },
      "waiting campaigns": { max: 1, maxPerCaller: 1 },
    });

  test("a waiting room has a limit for each kind, and leaving twice counts once", () => {
    const room = roomOf(2, 2);
    const leave = room.enter("watches", admin);
    room.enter("watches", admin);
    expect(() => room.enter("watches", admin)).toThrow(FULL);
    room.enter("waiting campaigns", admin);
    leave();
    leave();
    expect(room.count("watches")).toBe(1);
    room.enter("watches", admin);
    expect(room.count("watches")).toBe(2);
  });

  test("a waiting room has a share for each caller, by credential, role and name", () => {
    const room = roomOf(10, 3);
    const leaves = Array.from({ length: 3 }, () => room.enter("watches", node("a")));
    expect(() => room.enter("watches", node("a"))).toThrow(FULL);
    room.enter("watches", node("b"));
    room.enter("watches", { kind: "jwt", role: "observer", name: "a", groups: null });
    room.enter("watches", { kind: "certificate", role: "node", name: "a", groups: null });
    room.enter("waiting campaigns", node("a"));
    leaves[0]?.();
    room.enter("watches", node("a"));
    expect(() => room.enter("watches", node("a"))).toThrow(FULL);
  });

  test("a waiting room reserves a twentieth for admins, who have no share limit", () => {
    const room = roomOf(40, 20);
    for (let index = 0; index < 38; index++) room.enter("watches", node(`n${index % 2}`));
    expect(() => room.enter("watches", node("n3"))).toThrow(FULL);
    room.enter("watches", admin);
    room.enter("watches", admin);
    expect(() => room.enter("watches", admin)).toThrow(FULL);
  });
});
