/** The last samples, in one numeric array of fixed size: an hour of them costs 80 kB and makes no work for the garbage collector. */
import type { shapes } from "@tenure/api";

type Sample = shapes.Sample;

/** The place of each number in a row. A number that is `null` is stored as NaN. */
const FIELDS = [
  "ts_ms",
  "led",
  "vacant",
  "renewals_per_s",
  "requests_per_s",
  "request_p50_ms",
  "request_p99_ms",
  "leader_changes_per_min",
  "failover_p50_ms",
  "failover_max_ms",
  "watches",
  "waiting",
  "event_loop_ms",
  "memory_bytes",
] as const satisfies readonly (keyof Sample)[];

export class SampleRing {
  readonly #rows: Float64Array;
  readonly #capacity: number;
  /** How many were ever added. */
  #added = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#rows = new Float64Array(capacity * FIELDS.length);
  }

  add(sample: Sample): void {
    const start = (this.#added++ % this.#capacity) * FIELDS.length;
    for (const [index, field] of FIELDS.entries()) this.#rows[start + index] = sample[field] ?? Number.NaN;
  }

  /** The samples taken after `sinceMs`, oldest first. */
  since(sinceMs: number): Sample[] {
    const found: Sample[] = [];
    for (let index = Math.max(0, this.#added - this.#capacity); index < this.#added; index++) {
      const start = (index % this.#capacity) * FIELDS.length;
      if ((this.#rows[start] as number) > sinceMs) found.push(this.#sampleAt(start));
    }
    return found;
  }

  #sampleAt(start: number): Sample {
    const numbers = FIELDS.map((field, index) => {
      const number = this.#rows[start + index] as number;
      return [field, Number.isNaN(number) ? null : number] as const;
    });
    return Object.fromEntries(numbers) as unknown as Sample;
  }
}
