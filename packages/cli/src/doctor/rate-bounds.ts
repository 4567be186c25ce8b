/** One answer with the server's time, which the server read at some moment between two times of this machine. */
export interface TimeSample {
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly serverMs: number;
}

/** The server's time comes in whole milliseconds. */
const ROUNDING_MS = 1;

/**
 * How fast a server's clock runs beside ours, as bounds that surely hold: whatever delays an answer makes them wider,
 * never wrong. The longer one looks, the closer they come.
 */
export class RateBounds {
  /** Server milliseconds for each of ours. */
  least: number = 0;
  most: number = Number.POSITIVE_INFINITY;
  readonly #samples: TimeSample[] = [];

  take(later: TimeSample): void {
    for (const earlier of this.#samples) {
      const passedMs = later.serverMs - earlier.serverMs;
      const longestMs = later.answeredMs - earlier.sentMs;
      const shortestMs = later.sentMs - earlier.answeredMs;
      this.least = Math.max(this.least, (passedMs - ROUNDING_MS) / longestMs);
      if (shortestMs > 0) this.most = Math.min(this.most, (passedMs + ROUNDING_MS) / shortestMs);
    }
    this.#samples.push(later);
  }

  get width(): number {
    return this.most - this.least;
  }
}
