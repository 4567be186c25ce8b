/**
 * The highest term of each group that a process has seen. This is the rule of every gate: the highest term never falls, and a
 * term below the highest one is refused.
 */
export class HighestTerms {
  readonly #highest = new Map<string, number>();

  /** 0 if no term of the group was seen. */
  of(groupId: string): number {
    return this.#highest.get(groupId) ?? 0;
  }

  /** Raises the highest term to `term` if `term` is higher. Returns the highest term: `term` itself, or a higher one. */
  raise(groupId: string, term: number): number {
    const highest = this.of(groupId);
    if (!(term > highest)) return highest;
    this.#highest.set(groupId, term);
    return term;
  }
}
