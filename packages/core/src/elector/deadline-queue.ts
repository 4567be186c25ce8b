import type { CancelTimer, Clock } from "../clock.js";

/** An item that is to be looked at later. `heapIndex` and `heapMs` belong to the queue. */
export interface QueuedItem {
  /** When the item is to be looked at; `Infinity`: never. */
  dueMs: number;
  /** The item's index in the heap and the time under which it is sorted; -1: not in the heap. */
  heapIndex: number;
  heapMs: number;
}

/** Items handed out in one turn of the event loop: leases that expire together must not delay a renewal. */
const MAX_AT_ONCE = 100;

/**
 * One timer for all groups. A due time that moves later, as every renewal does, costs one assignment: the item stays
 * where it is in the heap and is sorted again when its old time comes. So a lease costs one heap operation per ttl,
 * however often it is renewed.
 */
export class DeadlineQueue<T extends QueuedItem> {
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  readonly #heap: T[] = [];
  #cancelTimer: CancelTimer | null = null;
  #timerMs = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  set(item: T, dueMs: number): void {
    item.dueMs = dueMs;
    if (item.heapIndex === -1) {
      if (dueMs === Number.POSITIVE_INFINITY) return;
      this.#insert(item);
    } else if (dueMs < item.heapMs) {
      item.heapMs = dueMs;
      this.#siftUp(item.heapIndex, item);
    }
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (this.#closed || first === undefined || first.heapMs >= this.#timerMs) return;
    this.#cancelTimer?.();
    this.#timerMs = first.heapMs;
    this.#cancelTimer = this.#clock.after(Math.max(0, first.heapMs - this.#clock.monotonicMs()), () =>
      this.#wake(),
    );
  }

  #wake(): void {
    // An item of the slice before may have set a timer when it was planned again.
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#timerMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    let taken = 0;
    for (let first = this.#heap[0]; first !== undefined && first.heapMs <= nowMs; first = this.#heap[0]) {
      if (taken++ === MAX_AT_ONCE) return this.#goOnSoon();
      this.#removeFirst();
      if (first.dueMs <= nowMs) this.#onDue(first);
      else if (first.dueMs !== Number.POSITIVE_INFINITY) this.#insert(first);
    }
    this.#arm();
  }

  /** No timer is needed until then, because the remaining items are due already. */
  #goOnSoon(): void {
    this.#timerMs = Number.NEGATIVE_INFINITY;
    this.#clock.soon(() => {
      if (!this.#closed) this.#wake();
    });
  }

  #insert(item: T): void {
    item.heapMs = item.dueMs;
    this.#siftUp(this.#heap.length, item);
  }

  #removeFirst(): void {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return;
    first.heapIndex = -1;
    if (first !== last) this.#siftDown(0, last);
  }

  #siftUp(from: number, item: T): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex] as T;
      if (parent.heapMs <= item.heapMs) break;
      this.#place(index, parent);
      index = parentIndex;
    }
    this.#place(index, item);
  }

  #siftDown(from: number, item: T): void {
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= this.#heap.length) break;
      const right = this.#heap[childIndex + 1];
      if (right !== undefined && right.heapMs < (this.#heap[childIndex] as T).heapMs) childIndex++;
      const child = this.#heap[childIndex] as T;
      if (child.heapMs >= item.heapMs) break;
      this.#place(index, child);
      index = childIndex;
    }
    this.#place(index, item);
  }

  #place(index: number, item: T): void {
    this.#heap[index] = item;
    item.heapIndex = index;
  }
}
