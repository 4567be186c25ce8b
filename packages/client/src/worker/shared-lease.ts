import { type Clock, type LeaseAnswer, LedTerm, type SendMoment } from "@tenure/core";
import { type Deadline, deadlineOf } from "@tenure/core/internal";
import type { Lease } from "../election/lease.js";
import { type ClockOffset, offsetOf } from "./machine-clock.js";
import { ENDED, LAPSED, LED, NOT_LEADER, TermMemory } from "./term-memory.js";

/** How long the reading of the slower clock is trusted on the faster one, as for a lease of this thread. */
const TRUSTED_MS = 1;

export interface SharedLeaseParts {
  readonly term: number;
  readonly clock: Clock;
  readonly driftRatio: number;
  readonly stallLimitMs: number;
  /** The other thread got the answer NOT_LEADER. */
  readonly notLeader: () => void;
}

/**
 * A lease that another thread renews, as the thread that acts sees it. It reads the deadline where the other thread
 * wrote it, so it is correct at once after any stall. A stall beyond the limit ends it, although the lease may still
 * run: the other thread stops renewing by the same rule.
 */
export class SharedLease implements Lease {
  readonly memory: TermMemory = new TermMemory();
  readonly #parts: SharedLeaseParts;
  readonly #clock: Clock;
  readonly #offset: ClockOffset;
  readonly #trusted: Deadline;
  #signedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SharedLeaseParts, offset: ClockOffset = offsetOf(parts.clock)) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#offset = offset;
    this.#trusted = deadlineOf(parts.clock);
  }

  /** Begins with the answer that won, before the other thread has seen it. False if nothing is left of the lease. */
  begin(won: LeaseAnswer): boolean {
    const { term, driftRatio } = this.#parts;
    const led = new LedTerm(term, this.#clock, driftRatio);
    if (!led.extend(won)) return false;
    const monotonicMs = this.#clock.monotonicMs();
    const bootMs = this.#clock.bootMs();
    const leftMs = led.leftMs();
    this.memory.deadline.write(monotonicMs + this.#offset.atLeastMs + leftMs, bootMs + leftMs);
    this.#signedAtMs = monotonicMs;
    this.sign(true);
    return true;
  }

  /** Shows that this thread is alive, and whether it is fit to lead. A signal that comes too late does not count. */
  sign(isFit: boolean): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#signedAtMs >= this.#parts.stallLimitMs) return this.memory.end(LAPSED);
    this.#signedAtMs = nowMs;
    this.memory.sign.write(nowMs + this.#offset.atLeastMs, isFit ? 1 : 0);
  }

  /** A moment in the machine's time, rounded to earlier. */
  machineMoment({ monotonicMs, bootMs }: SendMoment): SendMoment {
    return { monotonicMs: monotonicMs + this.#offset.atLeastMs, bootMs };
  }

  isInside(): boolean {
    if (this.memory.state !== LED) {
      if (this.memory.state === NOT_LEADER) this.#parts.notLeader();
      return false;
    }
    if (this.#trusted.isPending()) return true;
    const stallsInMs = this.#signedAtMs + this.#parts.stallLimitMs - this.#clock.monotonicMs();
    const leftMs = Math.min(this.leftMs(), stallsInMs);
    if (leftMs <= 0) {
      this.memory.end(LAPSED);
      return false;
    }
    this.#trusted.extend(Math.min(TRUSTED_MS, leftMs));
    return true;
  }

  leftMs(): number {
    if (this.memory.state !== LED) return 0;
    const { deadline } = this.memory;
    deadline.read();
    return Math.min(
      deadline.first - this.#offset.atMostMs - this.#clock.monotonicMs(),
      deadline.second - this.#clock.bootMs(),
    );
  }

  end(): void {
    this.memory.end(ENDED);
  }
}
