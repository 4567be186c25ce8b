import type { Clock } from "./clock.js";
import { SystemDeadline, systemClock } from "./system-clock.js";

/** A deadline on the monotonic clock. A new one has already passed. */
export interface Deadline {
  /** Whether the deadline is still to come. Cheap enough to call before every act. */
  isPending(): boolean;
  /** Moves the deadline to `delayMs` after the last call of `isPending()`: the time that has passed since then counts. */
  extend(delayMs: number): void;
  /** Makes the deadline pass now. */
  end(): void;
}

/** Reads the machine's clock without creating a number, which would allocate an object on every read. */
export function deadlineOf(clock: Clock): Deadline {
  return clock === systemClock ? new SystemDeadline() : new ClockDeadline(clock);
}

class ClockDeadline implements Deadline {
  readonly #clock: Clock;
  #atMs = Number.NEGATIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isPending(): boolean {
    this.#askedMs = this.#clock.monotonicMs();
    return this.#askedMs < this.#atMs;
  }

  extend(delayMs: number): void {
    this.#atMs = this.#askedMs + delayMs;
  }

  end(): void {
    this.#atMs = Number.NEGATIVE_INFINITY;
  }
}
