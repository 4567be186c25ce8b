import { type Clock, InvalidRequestError } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { ENDED } from "./ended.js";

/**
 * Returns true while this process is fit to lead. Throwing, not answering in time, and returning anything but a boolean
 * count as false.
 */
export type HealthChecker = (signal: AbortSignal) => boolean | Promise<boolean>;

export interface HealthOptions {
  readonly checker: HealthChecker | null;
  readonly timeoutMs: number;
  readonly maxFailures: number;
  readonly clock: Clock;
  /** `error`: what the last failed check threw, if it threw. */
  readonly changed: (healthy: boolean, error?: unknown) => void;
}

/** Unhealthy after `maxFailures` bad checks in a row, healthy again after one good check. */
export class Health {
  readonly #options: HealthOptions;
  #failures = 0;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  get isHealthy(): boolean {
    return this.#failures < this.#options.maxFailures;
  }

  /** Checks once, and returns whether the process counts as healthy after that. */
  async check(signal: AbortSignal): Promise<boolean> {
    const { checker } = this.#options;
    if (checker === null) return true;
    const { good, error } = await this.#ask(checker, signal);
    signal.throwIfAborted();
    const before = this.isHealthy;
    this.#failures = good ? 0 : this.#failures + 1;
    if (this.isHealthy !== before) this.#options.changed(this.isHealthy, error);
    return this.isHealthy;
  }

  #ask(checker: HealthChecker, signal: AbortSignal): Promise<Check> {
    const { clock, timeoutMs } = this.#options;
    const asking = new AbortController();
    return new Promise((resolve) => {
      const answer = (check: Check) => {
        cancel();
        stopListening();
        resolve(check);
        asking.abort(ENDED);
      };
      const late = new Error(`healthChecker did not answer within ${timeoutMs} ms`);
      const cancel = clock.after(timeoutMs, () => answer({ good: false, error: late }));
      const stopListening = onAbort(signal, () => answer({ good: false }));
      // In its own function, because a checker may throw synchronously.
      void (async () => checkBoolean(await checker(asking.signal)))().then(
        (good) => answer({ good }),
        (error: unknown) => answer({ good: false, error }),
      );
    });
  }
}

interface Check {
  readonly good: boolean;
  readonly error?: unknown;
}

function checkBoolean(given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw new InvalidRequestError("healthChecker", `must return true or false, not ${typeof given}`);
}
