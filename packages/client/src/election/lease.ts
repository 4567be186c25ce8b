import { type Clock, type LeaseAnswer, LedTerm } from "@tenure/core";
import { type Deadline, deadlineOf } from "@tenure/core/internal";

/** How long this process may act in one term. */
export interface Lease {
  /** Call it before each act; it is very cheap. Once false, always false. */
  isInside(): boolean;
  /** 0 or less when the process may not act. */
  leftMs(): number;
  end(): void;
}

/**
 * Reading the clock that advances during suspend takes microseconds. Its value is trusted for this time on the
 * monotonic clock, which takes nanoseconds to read: no more than may pass between any check and the act that it allows.
 * A machine that was suspended within that time of the last reading notices it when the rest of the time has passed.
 */
const TRUSTED_MS = 1;

/** A lease renewed on the event loop of this process. */
export class LocalLease implements Lease {
  readonly #led: LedTerm;
  readonly #trusted: Deadline;

  constructor(term: number, clock: Clock, driftRatio: number) {
    this.#led = new LedTerm(term, clock, driftRatio);
    this.#trusted = deadlineOf(clock);
  }

  extend(answer: LeaseAnswer): boolean {
    return this.#led.extend(answer);
  }

  isInside(): boolean {
    if (this.#trusted.isPending()) return true;
    const leftMs = this.#led.leftMs();
    if (leftMs <= 0) {
      this.end();
      return false;
    }
    this.#trusted.extend(Math.min(TRUSTED_MS, leftMs));
    return true;
  }

  leftMs(): number {
    return this.#led.leftMs();
  }

  end(): void {
    this.#led.end();
    this.#trusted.end();
  }
}
