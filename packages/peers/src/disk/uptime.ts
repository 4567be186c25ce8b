import type { Clock } from "@tenure/core";
import type { OwnRecords } from "./own-records.js";

const KEY = "running-ms";

/**
 * How long this server has run, over all its restarts, as far as that was stored. It measures ages longer than one run
 * of the process without a wall clock. It never runs ahead: time lost in a crash only makes things appear younger.
 */
export class Uptime {
  readonly #records: OwnRecords;
  readonly #clock: Clock;
  readonly #beforeMs: number;
  readonly #startMs: number;

  constructor(records: OwnRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
    this.#beforeMs = (records.get(KEY) as number | null) ?? 0;
    this.#startMs = clock.monotonicMs();
  }

  nowMs(): number {
    return this.#beforeMs + Math.floor(this.#clock.monotonicMs() - this.#startMs);
  }

  save(): Promise<void> {
    return this.#records.put({ [KEY]: this.nowMs() });
  }
}
