import type { Clock } from "@tenure/core";
import type { StoreState } from "@tenure/stores";
import type { Logger } from "pino";

const REPEAT_MS = 60_000;

/**
 * Log lines about a store that is opened in the background: one when it cannot be reached, another when the reason changes
 * or a minute has passed, and one when it is open.
 */
export class StoreReports {
  readonly #log: Logger;
  readonly #clock: Clock;
  #last: { readonly reason: string; readonly atMs: number } | null = null;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  report(state: StoreState): void {
    if (state.kind === "opened") {
      this.#last = null;
      this.#log.info("store opened");
      return;
    }
    const { message: reason } = state.reason;
    const nowMs = this.#clock.monotonicMs();
    if (this.#last?.reason === reason && nowMs - this.#last.atMs < REPEAT_MS) return;
    this.#last = { reason, atMs: nowMs };
    if (state.isRefused) this.#log.error({ reason }, "store refused this server; retrying");
    else this.#log.warn({ reason }, "store unreachable; retrying");
  }
}
