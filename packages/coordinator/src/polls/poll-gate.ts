import type { WatchEvent } from "@tenure/core";

/**
 * At the member: admits a dispatch unless a later coordinator has been heard of. A coordinator that was replaced while its
 * dispatch was under way is refused here. Who takes the group's watch in knows of the end of a term before the next
 * coordinator has dispatched anything.
 */
export class PollGate {
  #highestTerm = 0;

  get highestTerm(): number {
    return this.#highestTerm;
  }

  admit(term: number): boolean {
    if (!Number.isSafeInteger(term) || term < this.#highestTerm) return false;
    this.#highestTerm = term;
    return true;
  }

  /** An event of the group's watch. Where nobody leads, the term it names is over. */
  observe({ term, leaderNodeId }: Pick<WatchEvent, "term" | "leaderNodeId">): void {
    this.#highestTerm = Math.max(this.#highestTerm, leaderNodeId === null ? term + 1 : term);
  }
}
