/**
 * At the member: admits a dispatch unless a later coordinator has been heard of. A coordinator that was replaced while its
 * dispatch was under way is refused here.
 */
export class PollGate {
  #highestTerm = 0;

  get highestTerm(): number {
    return this.#highestTerm;
  }

  admit(term: number): boolean {
    if (term < this.#highestTerm) return false;
    this.#highestTerm = term;
    return true;
  }
}
