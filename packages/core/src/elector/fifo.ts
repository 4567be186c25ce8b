/**
 * A first-in, first-out queue with constant cost, however many items wait. `Array.shift` moves all remaining items:
 * with 50,000 items that takes longer than the work they wait for.
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
    // Half of the items are gone, so each move of a remaining item is paid for by one that was taken.
    if (this.#first * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
