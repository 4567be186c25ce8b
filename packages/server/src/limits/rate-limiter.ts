import type { Clock } from "@tenure/core";
import { ServiceError } from "../service-error.js";

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Limit of accounts in memory. The account idle for longest is removed first, and starts with a full bucket again. */
const MAX_ACCOUNTS = 10_000;
/** The largest debt of an account, in seconds of its rate. */
const MAX_DEBT_SECONDS = 60;

/**
 * A token bucket per account, which holds one second's worth. An account is a text that tells callers apart
 * (`account.ts`). Costs are in requests and may be fractions.
 */
export class RateLimiter {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Takes one token. Throws `RATE_LIMITED` with the time to wait if there is none. */
  admit(account: string): void {
    this.check(account);
    this.charge(account, 1);
  }

  /** As `admit`, and takes nothing. */
  check(account: string): void {
    const tokens = this.#tokens(account);
    if (tokens >= 1) return;
    const retryAfterSeconds = Math.ceil((1 - tokens) / this.#perSecond);
    const message =
      `${account} exceeded its rate limit of ${this.#perSecond} requests per second; ` +
      `retry after ${retryAfterSeconds} s, or send many items in one request`;
    throw new ServiceError("RATE_LIMITED", message, {}, { retryAfterSeconds });
  }

  /**
   * Takes what a request costs beyond the one token of its admission. The bucket need not hold that much, otherwise a large
   * request could never be admitted: the account owes the rest, and its next request has to wait for it.
   */
  charge(account: string, cost: number): void {
    const tokens = Math.max(this.#tokens(account) - cost, -MAX_DEBT_SECONDS * this.#perSecond);
    // Deleted and set again, the map is in order of the last request.
    this.#buckets.delete(account);
    this.#buckets.set(account, { tokens, atMs: this.#clock.monotonicMs() });
    if (this.#buckets.size > MAX_ACCOUNTS) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
  }

  #tokens(account: string): number {
    const known = this.#buckets.get(account);
    if (known === undefined) return this.#perSecond;
    const passedMs = this.#clock.monotonicMs() - known.atMs;
    return Math.min(this.#perSecond, known.tokens + (passedMs * this.#perSecond) / 1000);
  }
}
