import type { Clock } from "@tenure/core";

const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 300_000;

interface Repetition {
  count: number;
  nextAtMs: number;
  pauseMs: number;
}

/** Decides which of many similar failures are logged: the first of each code, then a summary after growing pauses. */
export class FailureLog {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Repetition>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many of this code were left out since the last line; `null` if this one is left out too. */
  count(code: string): number | null {
    const nowMs = this.#clock.monotonicMs();
    const seen = this.#seen.get(code);
    if (seen === undefined) {
      this.#seen.set(code, { count: 0, nextAtMs: nowMs + FIRST_PAUSE_MS, pauseMs: FIRST_PAUSE_MS });
      return 0;
    }
    if (nowMs < seen.nextAtMs) {
      seen.count += 1;
      return null;
    }
    const { count } = seen;
    seen.count = 0;
    seen.pauseMs = Math.min(2 * seen.pauseMs, MAX_PAUSE_MS);
    seen.nextAtMs = nowMs + seen.pauseMs;
    return count;
  }

  /** There was an answer: the next failure is logged again. */
  clear(): void {
    this.#seen.clear();
  }
}
