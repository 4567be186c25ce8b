/** Timers in order of (time, order of setting): a binary heap. A cancelled timer stays until it comes up. */
export interface Timer {
  readonly atMs: number;
  readonly sequence: number;
  /** Gone once fired or cancelled, so that a long wait given up holds nothing alive. */
  callback: (() => void) | undefined;
}

export class TimerQueue {
  readonly #heap: Timer[] = [];
  #sequence = 0;

  push(atMs: number, callback: () => void): Timer {
    const timer: Timer = { atMs, sequence: this.#sequence++, callback };
    this.#heap.push(timer);
    this.#rise(this.#heap.length - 1);
    return timer;
  }

  /** The next live timer, or none. */
  peek(): Timer | undefined {
    while (this.#heap.length > 0 && this.#heap[0]?.callback === undefined) this.#removeFirst();
    return this.#heap[0];
  }

  pop(): Timer | undefined {
    const timer = this.peek();
    if (timer !== undefined) this.#removeFirst();
    return timer;
  }

  clear(): void {
    this.#heap.length = 0;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(from: number): void {
    const heap = this.#heap;
    const timer = heap[from] as Timer;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, heap[parent] as Timer)) break;
      heap[index] = heap[parent] as Timer;
      index = parent;
    }
    heap[index] = timer;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const timer = heap[from] as Timer;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child++;
      if (!isBefore(heap[child] as Timer, timer)) break;
      heap[index] = heap[child] as Timer;
      index = child;
    }
    heap[index] = timer;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);
}
