import type { WatchEvent } from "@tenure/core";
import { HighestTerms } from "@tenure/core/internal";

/** A `PollGate` guards the polls of one group, so it needs no group ids. */
const GROUP = "";

/**
 * The member's check of a dispatch: a dispatch is admitted unless its term is below the highest term that the gate has seen. So a
 * dispatch of a coordinator that was replaced in the meantime is refused. A gate that is also given the events of the group's
 * watch knows of the end of a term before the next coordinator dispatches anything.
 */
export class PollGate {
  readonly #terms = new HighestTerms();

  get highestTerm(): number {
    return this.#terms.of(GROUP);
  }

  admit(term: number): boolean {
    return Number.isSafeInteger(term) && this.#terms.raise(GROUP, term) === term;
  }

  /** Takes an event of the group's watch. An event without a leader says that its term is over. */
  observe({ term, leaderNodeId }: Pick<WatchEvent, "term" | "leaderNodeId">): void {
    this.#terms.raise(GROUP, leaderNodeId === null ? term + 1 : term);
  }
}
