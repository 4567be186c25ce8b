/** Whether this process may lead at all: one health check for all its roles, repeated at each heartbeat. */
import { sleep } from "@tenure/core";
import { Health } from "../election/health.js";
import type { ParsedElection } from "../election/options.js";

export interface FitnessParts {
  readonly options: ParsedElection;
  /** Called after the first check, and after each check that changed the result. */
  readonly changed: (isFit: boolean) => void;
  /** The process became unhealthy, or healthy again. */
  readonly healthChanged: (healthy: boolean) => void;
}

export class Fitness {
  readonly #parts: FitnessParts;
  readonly #health: Health;
  #isFit: boolean;

  constructor(parts: FitnessParts) {
    const { clock, healthChecker, healthTimeoutMs, maxHealthFailures } = parts.options;
    this.#parts = parts;
    this.#isFit = healthChecker === null;
    this.#health = new Health({
      checker: healthChecker,
      timeoutMs: healthTimeoutMs,
      maxFailures: maxHealthFailures,
      clock,
      changed: parts.healthChanged,
    });
  }

  /** False until the first check was answered. */
  get isFit(): boolean {
    return this.#isFit;
  }

  get isHealthy(): boolean {
    return this.#health.isHealthy;
  }

  /** Runs until the signal aborts; ends at once if there is no check. */
  async run(signal: AbortSignal): Promise<void> {
    const { options, changed } = this.#parts;
    if (options.healthChecker === null) return;
    try {
      for (let isFirst = true; ; isFirst = false) {
        const isFit = await this.#health.check(signal);
        if (isFirst || isFit !== this.#isFit) {
          this.#isFit = isFit;
          changed(isFit);
        }
        await sleep(options.clock, options.heartbeatIntervalMs, signal);
      }
    } catch {
      // It was stopped.
    }
  }
}
