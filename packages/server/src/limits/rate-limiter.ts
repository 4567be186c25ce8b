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
    const tokens = this.#tokens(caller);
    const isAdmitted = tokens >= 1;
    this.#keep(caller, isAdmitted ? tokens - 1 : tokens);
    if (isAdmitted) return;
    const message = `${caller} has sent more than ${this.#perSecond} requests in a second`;
    throw new ServiceError("RATE_LIMITED", message, {}, { retryAfterSeconds: 1 });
  }

  /**
   * So many more, of a request that was admitted and holds several. The bucket need not hold all of them, lest a large one
   * never be let in: what it lacks is owed, and the next has to wait for it.
   */
  charge(caller: string, requests: number): void {
    this.#keep(caller, this.#tokens(caller) - requests);
  }

  #tokens(caller: string): number {
    const known = this.#buckets.get(caller);
    if (known === undefined) return this.#perSecond;
    const passedMs = this.#clock.monotonicMs() - known.atMs;
    return Math.min(this.#perSecond, known.tokens + (passedMs * this.#perSecond) / 1000);
  }

  #keep(caller: string, tokens: number): void {
    // Deleted and set again, the map is in order of the last request.
    this.#buckets.delete(caller);
    this.#buckets.set(caller, { tokens, atMs: this.#clock.monotonicMs() });
    if (this.#buckets.size > MOST_CALLERS) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
  }
}
