import type { Clock } from "@tenure/core";
import { ServiceError } from "../service-error.js";

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Callers remembered at most; the longest silent are forgotten first, and start with a full bucket again. */
const MOST_CALLERS = 10_000;

/** A token bucket per caller, which holds one second's worth. */
export class RateLimiter {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Throws `RATE_LIMITED` with the time after which it is worth asking again. */
  admit(caller: string): void {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#buckets.get(caller);
    const tokens =
      known === undefined
        ? this.#perSecond
        : Math.min(this.#perSecond, known.tokens + ((nowMs - known.atMs) * this.#perSecond) / 1000);
    // Deleted and set again, the map is in order of the last request.
    this.#buckets.delete(caller);
    this.#buckets.set(caller, { tokens: tokens < 1 ? tokens : tokens - 1, atMs: nowMs });
    if (this.#buckets.size > MOST_CALLERS) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
    if (tokens < 1) {
      const message = `${caller} has sent more than ${this.#perSecond} requests in a second`;
      throw new ServiceError("RATE_LIMITED", message, {}, { retryAfterSeconds: 1 });
    }
  }
}
