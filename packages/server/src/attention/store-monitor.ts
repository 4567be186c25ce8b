import type { StoreFacts } from "@tenure/api";
import { type Clock, sleep } from "@tenure/core";
import { WriteWindow } from "./write-times.js";

const PING_MS = 1000;

/** Whether the store answers this server, and how long its writes take. */
export class StoreMonitor {
  readonly #clock: Clock;
  readonly #writes = new WriteWindow();
  #unreachableSinceMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  took(writeMs: number): void {
    this.#writes.take(writeMs, this.#clock.monotonicMs(), this.#clock.wallMs());
  }

  /** Asks the store every second whether it answers, until the signal is aborted. */
  async watch(ping: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const askedMs = Math.round(this.#clock.wallMs());
      try {
        await ping();
        this.#unreachableSinceMs = null;
      } catch {
        this.#unreachableSinceMs ??= askedMs;
      }
      await sleep(this.#clock, PING_MS, signal).catch(() => {});
    }
  }

  facts(): StoreFacts {
    return {
      unreachableSinceMs: this.#unreachableSinceMs,
      writes: this.#writes.read(this.#clock.monotonicMs()),
    };
  }
}
