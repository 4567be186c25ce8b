import type { Clock } from "@tenure/core";

export interface FloodLimits {
  /** Lines that a key may write at once. */
  readonly burst: number;
  /** Lines per second and key after that. */
  readonly perSecond: number;
  /** The same for all keys together. */
  readonly totalBurst: number;
  readonly totalPerSecond: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Keys with a bucket of their own. Further ones share one bucket, so that a flood of keys gains nothing. */
const MAX_KEYS = 10_000;
const SHARED = "";

/** Decides which lines of a flood are written, and counts the others. Memory is bounded by `MAX_KEYS`. */
export class FloodGate {
  readonly #clock: Clock;
  readonly #limits: FloodLimits;
  readonly #buckets = new Map<string, Bucket>();
  readonly #total: Bucket;
  readonly #suppressed = new Map<string, number>();

  constructor(clock: Clock, limits: FloodLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#total = { tokens: limits.totalBurst, atMs: clock.monotonicMs() };
  }

  /** Whether the next line of this key is written. */
  admit(key: string): boolean {
    const own = this.#bucket(key);
    const { burst, perSecond, totalBurst, totalPerSecond } = this.#limits;
    const isAdmitted =
      this.#fill(own, burst, perSecond) && this.#fill(this.#total, totalBurst, totalPerSecond);
    if (isAdmitted) {
      own.tokens--;
      this.#total.tokens--;
    } else {
      const counted = this.#suppressed.has(key) || this.#suppressed.size < MAX_KEYS ? key : SHARED;
      this.#suppressed.set(counted, (this.#suppressed.get(counted) ?? 0) + 1);
    }
    return isAdmitted;
  }

  /** Lines not written since the last call, and the keys that had most of them. */
  takeSuppressed(most: number): {
    readonly count: number;
    readonly most: readonly (readonly [string, number])[];
  } {
    const sorted = [...this.#suppressed].filter(([key]) => key !== SHARED).sort(([, a], [, b]) => b - a);
    let count = 0;
    for (const each of this.#suppressed.values()) count += each;
    this.#suppressed.clear();
    return { count, most: sorted.slice(0, most) };
  }

  #bucket(key: string): Bucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    if (this.#buckets.size >= MAX_KEYS) this.#forgetFull();
    const name = this.#buckets.size >= MAX_KEYS ? SHARED : key;
    const bucket = this.#buckets.get(name) ?? {
      tokens: this.#limits.burst,
      atMs: this.#clock.monotonicMs(),
    };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  /** A bucket that is full again says nothing that a new one would not. */
  #forgetFull(): void {
    const { burst, perSecond } = this.#limits;
    for (const [key, bucket] of this.#buckets) {
      this.#fill(bucket, burst, perSecond);
      if (bucket.tokens >= burst) this.#buckets.delete(key);
    }
  }

  /** Whether it holds a token. */
  #fill(bucket: Bucket, burst: number, perSecond: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) * perSecond) / 1000);
    bucket.atMs = nowMs;
    return bucket.tokens >= 1;
  }
}
