/** A binary heap: the item that comes before all others is at hand, adding and taking one cost O(log n). */
export class Heap<T> {
  readonly #comesBefore: (a: T, b: T) => boolean;
  #items: T[] = [];

  constructor(comesBefore: (a: T, b: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let index = items.length;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = items[parentIndex] as T;
      if (!this.#comesBefore(item, parent)) break;
      items[index] = parent;
      index = parentIndex;
    }
    items[index] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0 && last !== undefined) this.#siftDown(last);
    return first;
  }

  /** Holds these items from now on, each once. */
  refill(items: Iterable<T>): void {
    this.#items = [];
    for (const item of items) this.push(item);
  }

  #siftDown(item: T): void {
    const items = this.#items;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= items.length) break;
      const right = childIndex + 1;
      if (right < items.length && this.#comesBefore(items[right] as T, items[childIndex] as T))
        childIndex = right;
      const child = items[childIndex] as T;
      if (!this.#comesBefore(child, item)) break;
      items[index] = child;
      index = childIndex;
    }
    items[index] = item;
  }
}
