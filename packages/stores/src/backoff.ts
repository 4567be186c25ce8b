import type { Clock } from "@tenure/core";

export interface BackoffOptions {
  /** Wait after the first failure; it doubles with each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Distances between attempts: each failure in a row doubles the wait, up to a maximum. */
export class Backoff {
  readonly #clock: Clock;
  readonly #options: BackoffOptions;
  #nextMs: number;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#nextMs = options.firstMs;
  }

  /** Time until the next attempt may start; 0 means now. */
  leftMs(): number {
    return Math.max(0, this.#dueMs - this.#clock.monotonicMs());
  }

  failed(): void {
    this.#dueMs = this.#clock.monotonicMs() + this.#nextMs;
    this.#nextMs = Math.min(2 * this.#nextMs, this.#options.maxMs);
  }

  succeeded(): void {
    this.#dueMs = Number.NEGATIVE_INFINITY;
    this.#nextMs = this.#options.firstMs;
  }
}
