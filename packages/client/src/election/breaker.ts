import type { Clock, Elector } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";
import { Pauses } from "./pauses.js";

export interface BreakerOptions {
  readonly clock: Clock;
  /** Failures in a row that open the breaker, at least 1. Default 5. */
  readonly failures?: number;
  /** How long the breaker stays open before one call may try, in milliseconds. Default 1000. */
  readonly openMs?: number;
}

/** `given-up`: the caller gave up, which shows nothing about the elector. */
export type CallOutcome = "answered" | "failed" | "given-up";

/**
 * A circuit breaker for campaigns and resignations over one elector. Once `failures` calls in a row have failed, one
 * call at a time tries and the others wait for it. A thousand roles then send a failing service no more requests than
 * one would. Renewals do not pass through the breaker: a leader keeps trying while it leads.
 */
export class Breaker {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #openMs: number;
  #failures = 0;
  #openUntilMs = Number.NEGATIVE_INFINITY;
  /** The one call that tries, while open. */
  #trial: Promise<void> | null = null;
  readonly #pauses = new Pauses();

  constructor({ clock, failures = 5, openMs = 1000 }: BreakerOptions) {
    this.#clock = clock;
    this.#limit = failures;
    this.#openMs = openMs;
  }

  get isOpen(): boolean {
    return this.#failures >= this.#limit;
  }

  /** Resolves when a call may be made. Call the returned function with the outcome. */
  async admit(signal: AbortSignal): Promise<(outcome: CallOutcome) => void> {
    while (this.isOpen) {
      if (this.#trial !== null) {
        await unlessAborted(signal, this.#trial);
        continue;
      }
      const waitMs = this.#openUntilMs - this.#clock.monotonicMs();
      if (waitMs <= 0) return this.#try();
      await this.pause(waitMs, signal);
    }
    return (outcome) => this.#count(outcome);
  }

  /** Resolves after `delayMs`, or as soon as the breaker closes: an elector that answers one call answers the others too. */
  pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#pauses.pause(this.#clock, delayMs, signal);
  }

  #try(): (outcome: CallOutcome) => void {
    let end = (): void => {};
    this.#trial = new Promise((resolve) => {
      end = resolve;
    });
    return (outcome) => {
      this.#count(outcome);
      this.#trial = null;
      end();
    };
  }

  #count(outcome: CallOutcome): void {
    if (outcome === "answered") {
      const wasOpen = this.isOpen;
      this.#failures = 0;
      if (wasOpen) this.#pauses.endAll();
    }
    if (outcome === "failed") {
      this.#failures += 1;
      this.#openUntilMs = this.#clock.monotonicMs() + this.#openMs;
    }
  }
}

const OF_ELECTOR = new WeakMap<Elector, Breaker>();

/** Elections over the same elector share its breaker. */
export function breakerOf(elector: Elector, clock: Clock): Breaker {
  const known = OF_ELECTOR.get(elector) ?? new Breaker({ clock });
  OF_ELECTOR.set(elector, known);
  return known;
}
