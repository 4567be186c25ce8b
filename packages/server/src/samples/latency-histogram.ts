/**
 * Durations of one interval in buckets that grow by a factor of 2^(1/32), so that every percentile is accurate to 1.1 %, however
 * many durations were recorded. Recording is a few operations on numbers, and memory is fixed.
 */
const PER_OCTAVE = 32;
/** Durations below this one count as 0. */
const FIRST_MS = 0.01;
/** Up to 2^36 times `FIRST_MS`, eight days. */
const BUCKETS = 36 * PER_OCTAVE;

export class LatencyHistogram {
  /** The first bucket is for durations below `FIRST_MS`. */
  readonly #counts = new Uint32Array(BUCKETS + 1);
  #count = 0;
  #minMs = Number.POSITIVE_INFINITY;
  #maxMs = 0;

  record(ms: number): void {
    const place = ms < FIRST_MS ? 0 : 1 + Math.floor(Math.log2(ms / FIRST_MS) * PER_OCTAVE);
    const bucket = Math.min(place, BUCKETS);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count++;
    if (ms < this.#minMs) this.#minMs = ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  get count(): number {
    return this.#count;
  }

  /** The longest duration, exactly; `null` if nothing was recorded. */
  get maxMs(): number | null {
    return this.#count === 0 ? null : this.#maxMs;
  }

  /** The smallest duration that is at least as long as this share of all; `null` if nothing was recorded. */
  percentile(share: number): number | null {
    if (this.#count === 0) return null;
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket <= BUCKETS; bucket++) {
      seen += this.#counts[bucket] as number;
      if (seen >= rank) return Math.min(Math.max(middleOf(bucket), this.#minMs), this.#maxMs);
    }
    return this.#maxMs;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#minMs = Number.POSITIVE_INFINITY;
    this.#maxMs = 0;
  }
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : FIRST_MS * 2 ** ((bucket - 0.5) / PER_OCTAVE);
}
