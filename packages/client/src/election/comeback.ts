/**
 * The way back of a leader whose lease ran out, while the others let it come back for their takeover delay.
 *
 * It does not resign: whoever resigns is followed at once. So the lease runs out in the store as well, and then it is the
 * first to stand. It may have been cut off from its watch along with everything else, so it asks for itself, often enough
 * to be back well before the others stand.
 */
import { within } from "@tenure/core/internal";
import type { LeaderWatch } from "./leader-watch.js";
import type { ParsedElection } from "./options.js";

export interface ComebackParts {
  readonly options: ParsedElection;
  readonly watch: LeaderWatch;
}

/** How many times it asks within the others' delay. */
const LOOKS = 8;
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

export class Comeback {
  readonly #parts: ComebackParts;
  /** The term that ran out, which the store may not know yet. */
  #term: number | null = null;
  #othersStandAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ComebackParts) {
    this.#parts = parts;
  }

  begin(term: number): void {
    const { clock, ttlMs, driftRatio, takeoverDelayMs } = this.#parts.options;
    this.#term = term;
    // A renewal whose answer never came may have reached the store just now.
    this.#othersStandAtMs = clock.monotonicMs() + ttlMs * (1 + driftRatio) + takeoverDelayMs;
  }

  /** The term to give back, where the store still holds it for this process as far as is known. */
  get heldTerm(): number | null {
    const { known } = this.#parts.watch;
    const isNamed = known?.nodeId === this.#parts.options.nodeId && known.term === this.#term;
    return isNamed ? this.#term : null;
  }

  /** The group is vacant, and kept so for this process. */
  get isAwaited(): boolean {
    const { watch, options } = this.#parts;
    const isVacant = watch.known?.nodeId === null && watch.known.term === this.#term;
    return isVacant && options.clock.monotonicMs() < this.#othersStandAtMs;
  }

  /** Waits for news by the watch, and asks after a while. True if there is an answer, or news. */
  async look(signal: AbortSignal): Promise<boolean> {
    const { options, watch } = this.#parts;
    const { clock, connectionTimeoutMs } = options;
    const before = watch.known;
    await watch.changed(this.#pauseMs(), signal);
    if (watch.known !== before) return true;
    try {
      await within(clock, { limitMs: connectionTimeoutMs, signal }, (limit) => watch.ask(limit));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  #pauseMs(): number {
    const { clock, takeoverDelayMs } = this.#parts.options;
    if (clock.monotonicMs() >= this.#othersStandAtMs) return MAX_PAUSE_MS;
    return Math.min(Math.max(takeoverDelayMs / LOOKS, MIN_PAUSE_MS), MAX_PAUSE_MS);
  }
}
