import { type Clock, sleep } from "@tenure/core";
import type { Uptime } from "../disk/uptime.js";
import { type DecisionLog, RETENTION_MS } from "./decision-log.js";

export interface RetentionOptions {
  readonly clock: Clock;
  readonly uptime: Uptime;
  readonly log: DecisionLog;
}

const INTERVAL_MS = RETENTION_MS / 24;

/** Forgets, at intervals, decisions that have been done for long enough, and records how long this server has run. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the server stops"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, uptime, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await sleep(clock, INTERVAL_MS, signal).catch(() => {});
      // If the disk fails, the next turn tries again.
      await uptime.save().catch(() => {});
      if (!signal.aborted) await log.forget().catch(() => {});
    }
  }
}
