import type { CancelTimer, Clock } from "@tenure/core";

const MAX_PAUSE_MS = 60_000;

export interface OverdueWorkParts {
  readonly clock: Clock;
  /** How long the work may take after its signal aborted. */
  readonly allowedMs: number;
  /** The shortest pause between two reports. */
  readonly minPauseMs: number;
  readonly leaseLeftMs: () => number;
  /** Called with the time since the signal aborted. */
  readonly report: (overdueMs: number) => void;
}

/**
 * Watches work whose signal has aborted: reports when its lease ends or `allowedMs` have passed, whichever comes first, and
 * again after pauses that double, until it is stopped. True from `stop` if anything was reported.
 */
export class OverdueWork {
  readonly #parts: OverdueWorkParts;
  readonly #signalledAtMs: number;
  #pauseMs: number;
  #reported = false;
  #cancel: CancelTimer;

  constructor(parts: OverdueWorkParts) {
    const { clock, allowedMs, minPauseMs, leaseLeftMs } = parts;
    this.#parts = parts;
    this.#pauseMs = Math.max(1, minPauseMs);
    // Work that ends with its signal must never be reported.
    const dueMs = Math.max(1, Math.min(allowedMs, leaseLeftMs()));
    this.#signalledAtMs = clock.monotonicMs();
    this.#cancel = clock.after(dueMs, () => this.#report());
  }

  stop(): boolean {
    this.#cancel();
    return this.#reported;
  }

  #report(): void {
    const { clock, report } = this.#parts;
    this.#cancel = clock.after(this.#pauseMs, () => this.#report());
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    this.#reported = true;
    report(clock.monotonicMs() - this.#signalledAtMs);
  }
}
