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

/** Clocks moved by hand. */
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

  /** Boot time as badly read as can be: it stands still. */
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

describe("the deadline counts from before the request was sent", () => {
  test("so an answer that took long gives less: sent + ⌊ttl·(1−ρ)⌋", () => {
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

  test("before any answer there is nothing to lead by, and asking ends nothing but that", () => {
    const term = begin(new HandClock());
    expect(term.leftMs()).toBeLessThanOrEqual(0);
    expect(term.term).toBe(3);
  });

  test("an answer that comes after its deadline gives nothing", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(990);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(false);
    expect(term.leftMs()).toBeLessThanOrEqual(0);
  });

  test("each attempt has its own moment, and the latest deadline of any answer counts", () => {
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

  test("a late answer to an early attempt, past its own deadline, takes nothing from a later one", () => {
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

  test("a shorter ttl does not shorten what is left", () => {
    const clock = new HandClock();
    const term = begin(clock);
    term.extend({ sent: sendMoment(clock), ttlMs: 10_000 });
    clock.run(100);
    term.extend({ sent: sendMoment(clock), ttlMs: 500 });
    expect(term.leftMs()).toBe(9_800);
  });
});

describe("a waiting campaign", () => {
  test("counts from the send and waited_ms·(1−2ρ)", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(30_200);
    expect(term.extend({ sent, ttlMs: 5_000, waitedMs: 30_000 })).toBe(true);
    // 29400 + 4950 after the send.
    expect(term.leftMs()).toBe(4_150);
  });

  test("rounds the wait down", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(1_000);
    term.extend({ sent, ttlMs: 1_000, waitedMs: 77 });
    expect(term.leftMs()).toBe(75 + 990 - 1_000);
  });

  test("without waited_ms gives nothing once the ttl has passed since the send", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(30_000);
    expect(term.extend({ sent, ttlMs: 5_000 })).toBe(false);
  });

  test("never gives more than one lease from now, whatever the server says it waited", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(100);
    expect(term.extend({ sent, ttlMs: 5_000, waitedMs: 60_000 })).toBe(true);
    expect(term.leftMs()).toBe(4_950);
  });

  test("over a suspend counts by the clock that ran through it", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.run(100);
    clock.suspend(20_000);
    clock.run(100);
    // 10 s of the wait; the lease has been over for long, though the monotonic clock shows 200 ms.
    expect(term.extend({ sent, ttlMs: 5_000, waitedMs: 10_000 })).toBe(false);
  });
});

describe("a suspend", () => {
  test("ends the lease though the monotonic clock stood still", () => {
    const clock = new HandClock();
    const term = begin(clock);
    term.extend({ sent: sendMoment(clock), ttlMs: 1_000 });
    clock.suspend(989);
    expect(term.isInside()).toBe(true);
    clock.suspend(1);
    expect(term.isInside()).toBe(false);
  });

  test("between send and answer counts", () => {
    const clock = new HandClock();
    const term = begin(clock);
    const sent = sendMoment(clock);
    clock.suspend(990);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(false);
  });

  test("or not, the stricter of both clocks counts: the monotonic one where the other stands still", () => {
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

  test("is read from a clock of 10 ms ticks, so one tick less is left", () => {
    const clock = new HandClock(10);
    const term = begin(clock);
    const sent = sendMoment(clock);
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(true);
    expect(term.leftMs()).toBe(980);
    // The send may have been almost a tick after what the clock showed, now almost nothing: still not too late.
    clock.run(979.9);
    expect(term.isInside()).toBe(true);
    clock.run(0.1);
    expect(term.isInside()).toBe(false);
  });

  test("of any length never leaves more than the ttl of true time, whatever the tick hides", () => {
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

describe("a term is led once", () => {
  function leading(): { clock: HandClock; term: LedTerm } {
    const clock = new HandClock();
    const term = begin(clock);
    term.extend({ sent: sendMoment(clock), ttlMs: 1_000 });
    return { clock, term };
  }

  test("when the deadline has passed, no answer brings it back", () => {
    const { clock, term } = leading();
    clock.run(900);
    const sent = sendMoment(clock);
    clock.run(90);
    // Sent inside, answered outside.
    expect(term.extend({ sent, ttlMs: 1_000 })).toBe(false);
    expect(term.extend({ sent: sendMoment(clock), ttlMs: 60_000 })).toBe(false);
    expect(term.isInside()).toBe(false);
    expect(term.leftMs()).toBeLessThanOrEqual(0);
  });

  test("when a resign is sent or NOT_LEADER has come, it is over at once and for good", () => {
    const { clock, term } = leading();
    term.end();
    expect(term.isInside()).toBe(false);
    expect(term.leftMs()).toBeLessThanOrEqual(0);
    expect(term.extend({ sent: sendMoment(clock), ttlMs: 1_000 })).toBe(false);
    expect(term.isInside()).toBe(false);
    term.end();
    expect(term.isInside()).toBe(false);
  });

  test("ended before its first answer, it never begins", () => {
    const clock = new HandClock();
    const term = begin(clock);
    term.end();
    expect(term.extend({ sent: sendMoment(clock), ttlMs: 1_000 })).toBe(false);
  });

  test("once outside, always outside", () => {
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

describe("a leader stops before anyone else can win", () => {
  test("whatever the rates of the clocks within ρ, the delays, and who writes in between", () => {
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
              : decideUpdate(seen, () => config, "operator");
            if (!("next" in decision)) throw new Error("neither is refused here");
            record = decision.next;
            if (each.renew) term.extend({ sent: request, ttlMs: 1_000 });
          }
          pass(late);
          const seenAtMs = trueMs;
          // The first moment at which the rival's clock lets it win.
          pass(record.holdMs / rivalRate);
          const ageMs = Math.max(record.holdMs, (trueMs - seenAtMs) * rivalRate);
          expect(decideCampaign({ record, ageMs }, rival, RHO, { wallMs: 0 }).kind).toBe("elect");
          // By less than what adding up fractions may err.
          pass(1e-6);
          expect(term.isInside()).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
