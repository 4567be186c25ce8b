import type { Clock } from "./clock.js";
import { SystemMoment, systemClock } from "./system-clock.js";

/** A moment on the monotonic clock. It has come already until it is put off. */
export interface Moment {
  /** Whether it is still to come. Cheap enough to ask before every act. */
  isAhead(): boolean;
  /** To so long after it was last asked for: what has passed since then counts. */
  putOff(delayMs: number): void;
  /** It has come. */
  end(): void;
}

/** The machine's clock is looked at without making a number of it: that would be an object to allocate for each look. */
export function momentOf(clock: Clock): Moment {
  return clock === systemClock ? new SystemMoment() : new ReadMoment(clock);
}

class ReadMoment implements Moment {
  readonly #clock: Clock;
  #atMs = Number.NEGATIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isAhead(): boolean {
    this.#askedMs = this.#clock.monotonicMs();
    return this.#askedMs < this.#atMs;
  }

  putOff(delayMs: number): void {
    this.#atMs = this.#askedMs + delayMs;
  }

  end(): void {
    this.#atMs = Number.NEGATIVE_INFINITY;
  }
}
