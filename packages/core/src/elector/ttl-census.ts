/** Which ttls are in force, to know the shortest: no call to the store may take long by its measure. */
export class TtlCensus {
  readonly #counts = new Map<number, number>();
  #shortestMs = Number.POSITIVE_INFINITY;

  move(fromMs: number | undefined, toMs: number | undefined): void {
    if (fromMs === toMs) return;
    if (toMs !== undefined) {
      this.#counts.set(toMs, (this.#counts.get(toMs) ?? 0) + 1);
      this.#shortestMs = Math.min(this.#shortestMs, toMs);
    }
    if (fromMs !== undefined) {
      const count = (this.#counts.get(fromMs) ?? 0) - 1;
      if (count > 0) {
        this.#counts.set(fromMs, count);
      } else {
        this.#counts.delete(fromMs);
        if (fromMs === this.#shortestMs)
          this.#shortestMs = Math.min(...this.#counts.keys(), Number.POSITIVE_INFINITY);
      }
    }
  }

  get shortestMs(): number {
    return this.#shortestMs;
  }
}
