import { SLOW_WRITE_MS, STORE_WINDOW_MS, type WriteTimes } from "@tenure/api";

const SLOT_MS = 1000;
const SLOTS = STORE_WINDOW_MS / SLOT_MS;
/** Each bucket is a tenth longer than the one before, so a percentile is at most a tenth too small. */
const GROWTH = 1.1;
const FIRST_MS = 0.1;
const BUCKETS = Math.ceil(Math.log(60_000 / FIRST_MS) / Math.log(GROWTH)) + 1;

interface Slot {
  /** Number of the second it is about. */
  second: number;
  readonly counts: Uint32Array;
  slow: number;
  slowSinceMs: number;
}

/** How long the writes of the last half minute took, in memory that does not depend on their number. */
export class WriteWindow {
  readonly #slots: readonly Slot[] = Array.from({ length: SLOTS }, () => ({
    second: -1,
    counts: new Uint32Array(BUCKETS),
    slow: 0,
    slowSinceMs: 0,
  }));

  /** `monotonicMs`, `wallMs`: when the write ended. */
  take(tookMs: number, monotonicMs: number, wallMs: number): void {
    const second = Math.floor(monotonicMs / SLOT_MS);
    const slot = this.#slots[second % SLOTS] as Slot;
    if (slot.second !== second) {
      slot.second = second;
      slot.counts.fill(0);
      slot.slow = 0;
    }
    const bucket = bucketOf(tookMs);
    slot.counts[bucket] = (slot.counts[bucket] ?? 0) + 1;
    if (tookMs <= SLOW_WRITE_MS) return;
    if (slot.slow === 0) slot.slowSinceMs = wallMs - tookMs;
    slot.slow++;
  }

  /** `null`: there were no writes. */
  read(monotonicMs: number): WriteTimes | null {
    const oldest = Math.floor(monotonicMs / SLOT_MS) - SLOTS;
    const kept = this.#slots
      .filter(({ second }) => second > oldest && second >= 0)
      .toSorted((a, b) => a.second - b.second);
    const counts = new Uint32Array(BUCKETS);
    for (const slot of kept)
      for (const [bucket, each] of slot.counts.entries()) counts[bucket] = (counts[bucket] ?? 0) + each;
    const count = counts.reduce((sum, each) => sum + each, 0);
    if (count === 0) return null;
    const firstSlow = kept.find(({ slow }) => slow > 0);
    return {
      count,
      p99Ms: percentileMs(counts, count),
      slow: kept.reduce((sum, { slow }) => sum + slow, 0),
      slowSinceMs: firstSlow === undefined ? null : Math.round(firstSlow.slowSinceMs),
    };
  }
}

function bucketOf(tookMs: number): number {
  if (tookMs <= FIRST_MS) return 0;
  return Math.min(BUCKETS - 1, 1 + Math.floor(Math.log(tookMs / FIRST_MS) / Math.log(GROWTH)));
}

/** The start of the bucket that the slowest hundredth begins in. */
function percentileMs(counts: Uint32Array, count: number): number {
  let left = Math.ceil(count / 100);
  for (let bucket = BUCKETS - 1; bucket > 0; bucket--) {
    left -= counts[bucket] ?? 0;
    if (left <= 0) return FIRST_MS * GROWTH ** (bucket - 1);
  }
  return 0;
}
