/**
 * Labels for the busiest values, up to a limit; the rest are counted as `other`.
 *
 * A value keeps its label until another value is twice as busy: without that distance two equally busy values would replace each
 * other with every count. What was counted before a value got its label stays with `other`, so no series ever decreases.
 */
export class BusiestLabels {
  readonly #most: number;
  readonly #onDropped: (label: string) => void;
  readonly #counts = new Map<string, number>();
  readonly #named = new Set<string>();
  /** No named value has counted less. */
  #leastCount = 0;

  constructor(most: number, onDropped: (label: string) => void) {
    this.#most = most;
    this.#onDropped = onDropped;
  }

  /** Counts it, and tells by what name. */
  count(value: string): string {
    const count = (this.#counts.get(value) ?? 0) + 1;
    this.#counts.set(value, count);
    if (this.#named.has(value)) return value;
    if (this.#named.size < this.#most) this.#named.add(value);
    else if (count < 2 * this.#leastCount || !this.#takesPlace(value, count)) return "other";
    return value;
  }

  #takesPlace(value: string, count: number): boolean {
    let least: string | null = null;
    this.#leastCount = Number.POSITIVE_INFINITY;
    for (const name of this.#named) {
      const its = this.#counts.get(name) ?? 0;
      if (its >= this.#leastCount) continue;
      least = name;
      this.#leastCount = its;
    }
    if (least === null || count < 2 * this.#leastCount) return false;
    this.#named.delete(least);
    this.#named.add(value);
    this.#onDropped(least);
    return true;
  }
}
