import { type Clock, sleep } from "@tenure/core";
import { LinkedController } from "@tenure/core/internal";
import { ENDED } from "./ended.js";

/** Pauses that end after their own time, or all together when there is news. */
export class Pauses {
  readonly #pausing = new Set<LinkedController>();

  /** Resolves after `delayMs` or at the next `endAll`; rejects with the reason of the signal. */
  async pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
    const pausing = new LinkedController(signal);
    this.#pausing.add(pausing);
    await sleep(clock, delayMs, pausing.signal).catch(() => {});
    this.#pausing.delete(pausing);
    pausing.unlink();
    signal.throwIfAborted();
  }

  endAll(): void {
    for (const pausing of this.#pausing) pausing.abort(ENDED);
  }
}
