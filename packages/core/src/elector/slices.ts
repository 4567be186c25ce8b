import { type Clock, readClock, type Reading } from "../clock.js";
import { Fifo } from "./fifo.js";

/** How much of a long piece of work is done in one turn: half a millisecond's worth of groups. */
export const SLICE_GROUPS = 250;

/**
 * Takes turns at long pieces of work: one slice of one of them per turn of the event loop, in the order of asking. However
 * many callers walk through all groups at once, a renewal waits for one slice.
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
