/**
 * Chance from a seed (sfc32): the same seed draws the same numbers on every machine. `fork` gives an independent
 * stream, so that one more draw in one place does not change what another place sees.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    // splitmix32 spreads neighbouring seeds over the whole state.
    let state = (seed ^ Math.floor(seed / 0x1_0000_0000)) | 0;
    const mix = () => {
      state = (state + 0x9e3779b9) | 0;
      let z = state ^ (state >>> 16);
      z = Math.imul(z, 0x21f0aaad);
      z ^= z >>> 15;
      z = Math.imul(z, 0x735a2d97);
      return z ^ (z >>> 15);
    };
    this.#a = mix();
    this.#b = mix();
    this.#c = mix();
    for (let i = 0; i < 12; i++) this.#draw();
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    return this.#draw() / 0x1_0000_0000;
  }

  /** From `min` up to, not including, `max`. */
  between(min: number, max: number): number {
    return min + (max - min) * this.next();
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError("nothing to pick from");
    return items[this.int(0, items.length - 1)] as T;
  }

  /** The items in a new order. */
  shuffle<T>(items: readonly T[]): T[] {
    const order = [...items];
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      [order[i], order[j]] = [order[j] as T, order[i] as T];
    }
    return order;
  }

  fork(): Random {
    return new Random(this.#draw());
  }

  #draw(): number {
    const t = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return t >>> 0;
  }
}
