import { type Clock, readClock, type Reading } from "../clock.js";
import { Fifo } from "./fifo.js";

/** How many groups a long piece of work handles in one turn: about half a millisecond of work. */
export const SLICE_GROUPS = 250;

/**
 * Schedules long pieces of work: one slice of one of them per turn of the event loop, in the order of the calls.
 * However many callers walk through all groups at once, a renewal waits for one slice at most.
 */
export class Slices {
  readonly #clock: Clock;
  readonly #waiting = new Fifo<(now: Reading) => void>();
  #scheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the caller may do its next slice, with a reading of the clock for it. */
  turn(): Promise<Reading> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    this.#clock.soon(() => {
      this.#scheduled = false;
      this.#waiting.shift()?.(readClock(this.#clock));
      this.#schedule();
    });
  }
}
