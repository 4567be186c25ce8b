/**
 * A queue in which the first goes first, at the same cost however many wait. `Array.shift` moves all the others: with 50,000
 * of them that takes longer than what they wait for.
 */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the first one; `undefined` if there is none. */
  shift(): T | undefined {
    if (this.#first === this.#items.length) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first++] = undefined;
    // Half of them are gone: each move of one that stays is paid for by one that went.
    if (this.#first * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
