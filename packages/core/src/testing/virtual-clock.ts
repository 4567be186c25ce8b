/**
 * True time, moved by hand. It is itself a perfect `Clock`; `process()` gives the clocks of one simulated process,
 * which may run fast or slow, be set wrong, be paused, suspended or killed.
 *
 *     const clock = new VirtualClock();
 *     await clock.advance(500);
 *
 * Driving it fires one timer after the other, and after each lets everything that follows from it settle. Nothing
 * else here takes real time, and one turn of the event loop per timer is enough for any number of worlds side by
 * side in one process.
 */
import type { CancelTimer, Clock } from "../clock.js";
import { ProcessClock, type ProcessClockOptions } from "./process-clock.js";
import { TimerQueue } from "./timer-queue.js";

const SETTLED = Promise.resolve();

export class VirtualClock implements Clock {
  /** Where the wall clock starts: a date in 2023, so that no code takes it for a duration. */
  static readonly EPOCH_MS = 1_700_000_000_000;

  readonly bootTickMs = 0;
  readonly #timers = new TimerQueue();
  #nowMs = 0;

  monotonicMs(): number {
    return this.#nowMs;
  }

  bootMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return VirtualClock.EPOCH_MS + this.#nowMs;
  }

  /** In virtual time everything arrives on its own. */
  soon(callback: () => void): void {
    void SETTLED.then(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    return this.at(this.#nowMs + Math.max(0, delayMs), callback);
  }

  /** Calls back at that true time, or at once (never from within this call) if it has passed. */
  at(trueMs: number, callback: () => void): CancelTimer {
    const timer = this.#timers.push(Math.max(trueMs, this.#nowMs), callback);
    return () => {
      timer.callback = undefined;
    };
  }

  /** The clocks of one process. */
  process(options?: ProcessClockOptions): ProcessClock {
    return new ProcessClock(this, options);
  }

  async advance(durationMs: number): Promise<void> {
    await this.run({ untilMs: this.#nowMs + durationMs });
  }

  /** Fires what is due until `untilMs`, or until no timer is left, and then stands at `untilMs`. */
  async run(options: { readonly untilMs: number }): Promise<void> {
    await settle();
    for (;;) {
      const next = this.#timers.peek();
      if (next === undefined || next.atMs > options.untilMs) break;
      this.#timers.pop();
      this.#nowMs = next.atMs;
      const callback = next.callback;
      next.callback = undefined;
      callback?.();
      await settle();
    }
    if (Number.isFinite(options.untilMs)) this.#nowMs = Math.max(this.#nowMs, options.untilMs);
  }

  /** Drops every timer: the end of a world that is not to be run further. */
  stop(): void {
    this.#timers.clear();
  }
}

/** One turn of the event loop: by then every promise that could settle without time passing has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
