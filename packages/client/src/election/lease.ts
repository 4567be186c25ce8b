import { type Clock, type LeaseAnswer, LedTerm } from "@tenure/core";
import { type Deadline, deadlineOf } from "@tenure/core/internal";

/** Until when this process may act in one term. */
export interface Lease {
  /** Asked before each act; costs next to nothing. Once false, always false. */
  isInside(): boolean;
  /** 0 or less when it may not. */
  leftMs(): number;
  end(): void;
}

/**
 * Reading the clock that runs through suspend costs microseconds. What it says is good for so long on the other clock,
 * which costs nanoseconds: no more than may pass between any check and the act it allows. A machine that slept within that
 * time of the last look finds out when the rest of it has passed.
 */
const TRUSTED_MS = 1;

/** A lease renewed on the event loop of this very process. */
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
