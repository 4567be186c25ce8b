import { type CancelTimer, type Clock, onAbort } from "@tenure/core";

/**
 * The moments at which all elections of a process with the same interval send their heartbeats, by one timer for all: a thousand
 * of their own would fire one after the other over several milliseconds, and their renewals go out in as many requests.
 */
export class Pulse {
  static readonly #ofClocks = new WeakMap<Clock, Map<number, Pulse>>();
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #waiting = new Set<() => void>();
  #cancel: CancelTimer | null = null;

  private constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  static of(clock: Clock, intervalMs: number): Pulse {
    const pulses = Pulse.#ofClocks.get(clock) ?? new Map<number, Pulse>();
    const pulse = pulses.get(intervalMs) ?? new Pulse(clock, intervalMs);
    Pulse.#ofClocks.set(clock, pulses.set(intervalMs, pulse));
    return pulse;
  }

  /** On a grid of the clock, whoever asks and whenever. */
  untilNextMs(): number {
    return this.#intervalMs - (this.#clock.monotonicMs() % this.#intervalMs);
  }

  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const beat = () => {
        stopListening();
        resolve();
      };
      const stopListening = onAbort(signal, () => {
        this.#leave(beat);
        reject(signal.reason as Error);
      });
      this.#waiting.add(beat);
      this.#cancel ??= this.#clock.after(this.untilNextMs(), () => this.#beat());
    });
  }

  #beat(): void {
    this.#cancel = null;
    const beats = [...this.#waiting];
    this.#waiting.clear();
    for (const beat of beats) beat();
  }

  #leave(beat: () => void): void {
    this.#waiting.delete(beat);
    if (this.#waiting.size > 0) return;
    this.#cancel?.();
    this.#cancel = null;
  }
}
