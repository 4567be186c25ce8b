/**
 * How a leader whose lease expired returns, while the other candidates wait for their takeover delay.
 *
 * It does not resign, because the group would go to another candidate at once. So the lease expires in the store as
 * well, and then this process is the first to campaign. Its watch may have been cut off along with its renewals, so it
 * asks the elector itself, often enough to return well before the others campaign.
 */
import { within } from "@tenure/core/internal";
import type { LeaderWatch } from "./leader-watch.js";
import type { ParsedElection } from "./options.js";

export interface ComebackParts {
  readonly options: ParsedElection;
  readonly watch: LeaderWatch;
}

/** How many times it asks within the takeover delay. */
const LOOKS = 8;
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

export class Comeback {
  readonly #parts: ComebackParts;
  /** The term that expired here, possibly not yet in the store. */
  #term: number | null = null;
  #othersStandAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ComebackParts) {
    this.#parts = parts;
  }

  begin(term: number): void {
    const { clock, ttlMs, driftRatio, takeoverDelayMs } = this.#parts.options;
    this.#term = term;
    // A renewal whose answer was lost may have reached the store just now.
    this.#othersStandAtMs = clock.monotonicMs() + ttlMs * (1 + driftRatio) + takeoverDelayMs;
  }

  /** The term to give back, if the store still holds it for this process as far as is known. */
  get heldTerm(): number | null {
    const { known } = this.#parts.watch;
    const isNamed = known?.nodeId === this.#parts.options.nodeId && known.term === this.#term;
    return isNamed ? this.#term : null;
  }

  /** The group is vacant, and the others leave it to this process. */
  get isAwaited(): boolean {
    const { watch, options } = this.#parts;
    const isVacant = watch.known?.nodeId === null && watch.known.term === this.#term;
    return isVacant && options.clock.monotonicMs() < this.#othersStandAtMs;
  }

  /** Waits for news from the watch, then asks. True if there was an answer or news. */
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
