/** The first so many values keep their name, the rest are `other`. */
export class BoundedLabels {
  readonly #most: number;
  readonly #known = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  label(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#most) return "other";
    this.#known.add(value);
    return value;
  }
}
