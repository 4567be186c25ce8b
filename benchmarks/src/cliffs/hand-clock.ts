import type { CancelTimer, Clock } from "@tenure/core";

/** So many turns of the event loop without anything new mean that nothing more comes by itself. */
const QUIET_TURNS = 4;
const MOMENT_MS = 100;

/**
 * Time that moves by hand, over real turns of the event loop: leases end when the benchmark says so, and `soon` costs what
 * it costs in a server.
 */
export class HandClock implements Clock {
  readonly bootTickMs = 10;
  readonly #timers = new Map<() => void, number>();
  #nowMs = 1000;
  #soon = 0;

  monotonicMs(): number {
    return this.#nowMs;
  }

  bootMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  soon(callback: () => void): void {
    this.#soon++;
    setImmediate(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const timer = (): void => callback();
    this.#timers.set(timer, this.#nowMs + delayMs);
    return () => void this.#timers.delete(timer);
  }

  /**
   * All at once, so that whatever ends meanwhile ends together; fires what is due in one turn, as Node does, and waits until
   * nothing more follows from it. What is put off by a moment is given that moment.
   */
  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    const untilMs = this.#nowMs + MOMENT_MS;
    for (;;) {
      const dueMs = Math.max(this.#nowMs, Math.min(...this.#timers.values()));
      if (dueMs > untilMs) break;
      this.#nowMs = dueMs;
      const due = [...this.#timers].filter(([, atMs]) => atMs <= dueMs);
      for (const [timer] of due) if (this.#timers.delete(timer)) timer();
      await this.settled();
    }
  }

  /** Resolves when everything has happened that happens without time passing. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      const before = this.#soon;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#soon !== before) quiet = -1;
    }
  }
}
