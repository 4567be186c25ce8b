import { LedTerm, type LeaseAnswer } from "@tenure/core";
import type { ProcessClock } from "@tenure/core/testing";

/**
 * How long a process may act in each term, by all answers that it got: what a leader should know, computed
 * independently of it. It never uses the code of a mutant.
 */
export class GrantedTime {
  readonly #clock: ProcessClock;
  readonly #driftRatio: number;
  readonly #terms = new Map<number, LedTerm>();

  constructor(clock: ProcessClock, driftRatio: number) {
    this.#clock = clock;
    this.#driftRatio = driftRatio;
  }

  add(number: number, answer: LeaseAnswer): void {
    const term = this.#terms.get(number) ?? new LedTerm(number, this.#clock, this.#driftRatio);
    this.#terms.set(number, term);
    this.#clock.look(() => term.extend(answer));
  }

  /** It was refused, or has sent a resign: later answers do not count. */
  end(number: number): void {
    this.#terms.get(number)?.end();
  }

  /** 0 or less where the process may not act. */
  leftMs(number: number): number {
    return this.#clock.look(() => this.#terms.get(number)?.leftMs() ?? 0);
  }
}
