import type { CancelTimer, Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";

/**
 * The times at which all elections of a process with the same interval send their heartbeats, with one timer for all. A
 * thousand separate timers would fire one after the other over several milliseconds, and their renewals would be sent
 * in as many requests.
 */
export class RenewalTimer {
  static readonly #ofClocks = new WeakMap<Clock, Map<number, RenewalTimer>>();
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #waiting = new Set<() => void>();
  #cancel: CancelTimer | null = null;

  private constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  static of(clock: Clock, intervalMs: number): RenewalTimer {
    const timers = RenewalTimer.#ofClocks.get(clock) ?? new Map<number, RenewalTimer>();
    const timer = timers.get(intervalMs) ?? new RenewalTimer(clock, intervalMs);
    RenewalTimer.#ofClocks.set(clock, timers.set(intervalMs, timer));
    return timer;
  }

  /** On a fixed grid of the clock, the same for all callers. */
  untilNextMs(): number {
    return this.#intervalMs - (this.#clock.monotonicMs() % this.#intervalMs);
  }

  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const wake = () => {
        stopListening();
        resolve();
      };
      const stopListening = onAbort(signal, () => {
        this.#leave(wake);
        reject(signal.reason as Error);
      });
      this.#waiting.add(wake);
      this.#cancel ??= this.#clock.after(this.untilNextMs(), () => this.#fire());
    });
  }

  #fire(): void {
    this.#cancel = null;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #leave(wake: () => void): void {
    this.#waiting.delete(wake);
    if (this.#waiting.size > 0) return;
    this.#cancel?.();
    this.#cancel = null;
  }
}
