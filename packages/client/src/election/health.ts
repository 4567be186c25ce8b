import { type Clock, onAbort } from "@tenure/core";
import { ENDED } from "./ended.js";

/** True while this process is fit to lead. Throwing, and not answering in time, count as false. */
export type HealthChecker = (signal: AbortSignal) => boolean | Promise<boolean>;

export interface HealthOptions {
  readonly checker: HealthChecker | null;
  readonly timeoutMs: number;
  readonly maxFailures: number;
  readonly clock: Clock;
  readonly changed: (healthy: boolean) => void;
}

/** Unhealthy after so many bad checks in a row, healthy again after one good one. */
export class Health {
  readonly #options: HealthOptions;
  #failures = 0;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  get isHealthy(): boolean {
    return this.#failures < this.#options.maxFailures;
  }

  /** Checks once, and says whether the process counts as healthy then. */
  async check(signal: AbortSignal): Promise<boolean> {
    const { checker } = this.#options;
    if (checker === null) return true;
    const good = await this.#ask(checker, signal);
    signal.throwIfAborted();
    const before = this.isHealthy;
    this.#failures = good ? 0 : this.#failures + 1;
    if (this.isHealthy !== before) this.#options.changed(this.isHealthy);
    return this.isHealthy;
  }

  #ask(checker: HealthChecker, signal: AbortSignal): Promise<boolean> {
    const { clock, timeoutMs } = this.#options;
    const asking = new AbortController();
    return new Promise((resolve) => {
      const answer = (good: boolean) => {
        cancel();
        stopListening();
        resolve(good);
        asking.abort(ENDED);
      };
      const cancel = clock.after(timeoutMs, () => answer(false));
      const stopListening = onAbort(signal, () => answer(false));
      // In a function of its own: a checker may throw at once.
      void (async () => checker(asking.signal))().then(
        (good) => answer(good),
        () => answer(false),
      );
    });
  }
}
