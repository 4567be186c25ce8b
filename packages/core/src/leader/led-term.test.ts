import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../clock.js";
import { DEFAULT_POLICY } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type Holder } from "../record.js";
import { decideCampaign } from "../rules/campaign.js";
import { decideUpdate } from "../rules/configure.js";
import { decideRenew } from "../rules/renew.js";
import { LedTerm, sendMoment } from "./led-term.js";

const RHO = 0.01;

/** Clocks that the test moves. */
class HandClock implements Clock {
  readonly bootTickMs: number;
  #monotonicMs = 5_000;
  #bootMs = 90_000;

  constructor(bootTickMs = 0) {
    this.bootTickMs = bootTickMs;
  }

  run(ms: number): void {
    this.#monotonicMs += ms;
    this.#bootMs += ms;
  }

  /** The worst boot clock: it stands still. */
  runMonotonicOnly(ms: number): void {
    this.#monotonicMs += ms;
  }

  suspend(ms: number): void {
    this.#bootMs += ms;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  bootMs(): number {
    return this.bootTickMs === 0
      ? this.#bootMs
      : Math.floor(this.#bootMs / this.bootTickMs) * this.bootTickMs;
  }

  wallMs(): never {
    throw new Error("the wall clock takes no part");
  }

  soon(callback: () => void): void {
    queueMicrotask(callback);
  }

  after(): never {
    throw new Error("a deadline needs no timer");
  }
}

function begin(clock: HandClock): LedTerm {
  return new LedTerm(3, clock, RHO);
}

describe("the deadline of a leader counts from before the request was sent", () => {
  test("a slow answer gives a shorter lease: the deadline is sent + ⌊ttl·(1−ρ)⌋", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(300);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(true);
    expect(term.leftMs()).toBe(690);
    clock.run(689.5);
    expect(term.isInside()).toBe(true);
    clock.run(0.5);
    expect(term.isInside()).toBe(false);
  });

  test("a term without an answer has no time left", () => {
    const term = begin(new HandClock());
    expect(term.leftMs()).toBeLessThanOrEqual(0);
    expect(term.term).toBe(3);
  });

  test("an answer that comes after its deadline extends nothing", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(990);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(false);
    expect(term.leftMs()).toBeLessThanOrEqual(0);
  });

  test("each attempt counts from its own send time, and the latest deadline of any answer counts", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const first = sendMoment(clock);
    clock.run(100);
    const second = sendMoment(clock);
    clock.run(100);
    expect(term.extend({ sent: second, ttlMs: 1_000 })).toBe(true);
    expect(term.leftMs()).toBe(890);
    expect(term.extend({ sent: first, ttlMs: 1_000 })).toBe(true);
    expect(term.leftMs()).toBe(890);
  });

  test("an answer past its own deadline does not shorten the deadline of a later attempt", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const first = sendMoment(clock);
    clock.run(600);
    term.extend({ sent: sendMoment(clock), ttlMs: 1_000 });
    clock.run(400);
    expect(term.extend({ sent: first, ttlMs: 1_000 })).toBe(false);
    expect(term.isInside()).toBe(true);
    expect(term.leftMs()).toBe(590);
  });

  test("a shorter ttl does not shorten the time left", () => {
    const clock = new HandClock();
    const term = begin(clock);
    term.extend({ sent: sendMoment(clock), ttlMs: 10_000 });
    clock.run(100);
    term.extend({ sent: sendMoment(clock), ttlMs: 500 });
    expect(term.leftMs()).toBe(9_800);
  });
});

describe("the deadline after a waiting campaign", () => {
  test("a waiting campaign's deadline counts from the send time plus waitedMs·(1−2ρ)", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(30_200);
    expect(term.extend({ sent, ttlMs: 5_000, waitedMs: 30_000 })).toBe(true);
    // 29400 + 4950 after the send.
    expect(term.leftMs()).toBe(4_150);
  });

  test("the counted wait is rounded down", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(1_000);
    term.extend({ sent, ttlMs: 1_000, waitedMs: 77 });
    expect(term.leftMs()).toBe(75 + 990 - 1_000);
  });

  test("a waiting campaign answered without waitedMs gives no lease once the ttl has passed since the send", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(30_000);
    expect(term.extend({ sent, ttlMs: 5_000 })).toBe(false);
  });

  test("a waiting campaign gives at most one lease from now, whatever waitedMs the server reports", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(100);
    expect(term.extend({ sent, ttlMs: 5_000, waitedMs: 60_000 })).toBe(true);
    expect(term.leftMs()).toBe(4_950);
  });

  test("a wait across a suspend is counted by the clock that kept running", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(100);
    clock.suspend(20_000);
    clock.run(100);
    // 10 s of the wait; the lease has long been over, though the monotonic clock shows 200 ms.
    expect(term.extend({ sent, ttlMs: 5_000, waitedMs: 10_000 })).toBe(false);
  });
});

describe("the deadline across a suspend", () => {
  test("a suspend ends the lease although the monotonic clock stood still", () => {
    const clock = new HandClock();
    const term = begin(clock);
    term.extend({ sent: sendMoment(clock), ttlMs: 1_000 });
    clock.suspend(989);
    expect(term.isInside()).toBe(true);
    clock.suspend(1);
    expect(term.isInside()).toBe(false);
  });

  test("a suspend between send and answer counts", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.suspend(990);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(false);
  });

  test("the monotonic clock ends the lease if the boot clock stands still", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(true);
    clock.runMonotonicOnly(989);
    expect(term.isInside()).toBe(true);
    clock.runMonotonicOnly(1);
    expect(term.isInside()).toBe(false);
    expect(begin(clock).extend({ sent, ttlMs: 1_000 })).toBe(false);
  });

  test("a boot clock with 10 ms ticks takes one tick from the time left", () => {
    const clock = new HandClock(10);
    const term = begin(clock);
    const sent = sendMoment(clock);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(true);
    expect(term.leftMs()).toBe(980);
    // The send may have been almost a tick later than the clock showed, and now almost no later: still in time.
    clock.run(979.9);
    expect(term.isInside()).toBe(true);
    clock.run(0.1);
    expect(term.isInside()).toBe(false);
  });

  test("a suspend of any length never leaves more than the ttl of true time, whatever the tick hides", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 30, noNaN: true }),
        fc.double({ min: 0, max: 1_500, noNaN: true }),
        fc.double({ min: 0, max: 1_500, noNaN: true }),
        (before, asleep, awake) => {
          const clock = new HandClock(10);
          clock.run(before);
          const term = begin(clock);
          const sent = sendMoment(clock);
          clock.suspend(asleep);
          clock.run(awake);
          if (term.extend({ sent, ttlMs: 1_000 })) expect(asleep + awake).toBeLessThan(990);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a term is led once only", () => {
  function leading(): { clock: HandClock; term: LedTerm } {
    const clock = new HandClock();
    const term = begin(clock);
    term.extend({ sent: sendMoment(clock), ttlMs: 1_000 });
    return { clock, term };
  }

  test("no answer brings a term back whose deadline has passed", () => {
    const { clock, term } = leading();
    clock.run(900);
    const sent = sendMoment(clock);
    clock.run(90);
    // Sent inside the deadline, answered outside.
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(false);
    expect(term.extend({ sent: sendMoment(clock), ttlMs: 60_000 })).toBe(false);
    expect(term.isInside()).toBe(false);
    expect(term.leftMs()).toBeLessThanOrEqual(0);
  });

  test("an ended term is over at once and cannot be extended", () => {
    const { clock, term } = leading();
    term.end();
    expect(term.isInside()).toBe(false);
    expect(term.leftMs()).toBeLessThanOrEqual(0);
    expect(term.extend({ sent: sendMoment(clock), ttlMs: 1_000 })).toBe(false);
    expect(term.isInside()).toBe(false);
    term.end();
    expect(term.isInside()).toBe(false);
  });

  test("a term ended before its first answer never begins", () => {
    const clock = new HandClock();
    const term = begin(clock);
    term.end();
    expect(term.extend({ sent: sendMoment(clock), ttlMs: 1_000 })).toBe(false);
  });

  test("a term that was seen outside its deadline stays outside, even if the clock goes back", () => {
    const { clock, term } = leading();
    clock.run(990);
    expect(term.isInside()).toBe(false);
    clock.run(-500);
    expect(term.isInside()).toBe(false);
  });
});

const holder: Holder = { nodeId: "a", instanceId: "i1", ttlMs: 1_000, priority: 0, metadata: null };
const config = { policy: DEFAULT_POLICY, allowedNodes: null };
const rival: Holder = { ...holder, nodeId: "b" };
const rate = fc.oneof(
  fc.constantFrom(1 - RHO, 1 + RHO),
  fc.double({ min: 1 - RHO, max: 1 + RHO, noNaN: true }),
);
const delay = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 700, noNaN: true }));

describe("a leader and its successor", () => {
  test("a leader stops before another can win, for all clock rates within ρ, delays and writes in between", () => {
    const write = fc.record({
      rate,
      renew: fc.boolean(),
      sendDelay: delay,
      sightDelay: delay,
      actAfter: delay,
    });
    fc.assert(
      fc.property(
        rate,
        fc.array(write, { maxLength: 6 }),
        rate,
        delay,
        (leaderRate, writes, rivalRate, late) => {
          let trueMs = 0;
          let record: ElectionRecord = EMPTY_RECORD;
          const clock = new HandClock();
          const term = begin(clock);
          const pass = (ms: number) => {
            trueMs += ms;
            clock.run(ms * leaderRate);
          };
          const won = decideCampaign({ record, ageMs: 0 }, holder, RHO, { wallMs: 0 });
          if (won.kind !== "elect") throw new Error("an empty record may be won");
          const sent = sendMoment(clock);
          record = won.next;
          term.extend({ sent, ttlMs: 1_000 });
          for (const each of writes) {
            const request = sendMoment(clock);
            pass(each.sendDelay);
            const seenAtMs = trueMs + each.sightDelay;
            pass(each.sightDelay + each.actAfter);
            const seen = { record, ageMs: (trueMs - seenAtMs) * each.rate };
            const claim = { nodeId: "a", term: 1, instanceId: "i1" };
            // An operator's write, or the leader's own renewal.
            const decision = each.renew
              ? decideRenew(seen, claim, 1_000, RHO)
              : decideUpdate(seen, () => config, { by: "operator", reason: null, tsMs: 5 });
            if (!("next" in decision)) throw new Error("neither is refused here");
            record = decision.next;
            if (each.renew) term.extend({ sent: request, ttlMs: 1_000 });
          }
          pass(late);
          const seenAtMs = trueMs;
          // The first time at which the rival's clock allows it to win.
          pass(record.holdMs / rivalRate);
          const ageMs = Math.max(record.holdMs, (trueMs - seenAtMs) * rivalRate);
          expect(decideCampaign({ record, ageMs }, rival, RHO, { wallMs: 0 }).kind).toBe("elect");
          // Less than the rounding error of adding fractions.
          pass(1e-6);
          expect(term.isInside()).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
