import type { Probed } from "./http-probe.js";

/**
 * How far a server's wall clock is ahead of this machine's. An answer bears the server's time in whole seconds, so each
 * says no more than that the offset lies within a second or so; what all of them say together is far closer.
 */
export class ClockOffset {
  #leastMs = Number.NEGATIVE_INFINITY;
  #mostMs = Number.POSITIVE_INFINITY;

  take({ headers, sentAtMs, answeredAtMs }: Pick<Probed, "headers" | "sentAtMs" | "answeredAtMs">): void {
    const servedAtMs = Date.parse(headers.date ?? "");
    if (Number.isNaN(servedAtMs)) return;
    const leastMs = servedAtMs - answeredAtMs;
    const mostMs = servedAtMs + 1000 - sentAtMs;
    const isStep = leastMs > this.#mostMs || mostMs < this.#leastMs;
    // One of the clocks was set meanwhile: the earlier bounds do not hold any more.
    this.#leastMs = isStep ? leastMs : Math.max(this.#leastMs, leastMs);
    this.#mostMs = isStep ? mostMs : Math.min(this.#mostMs, mostMs);
  }

  /** `null` before the first sample. */
  get offsetMs(): number | null {
    return Number.isFinite(this.#leastMs) ? (this.#leastMs + this.#mostMs) / 2 : null;
  }

  /** The true offset is no further from `offsetMs` than this. */
  get errorMs(): number {
    return (this.#mostMs - this.#leastMs) / 2;
  }
}
