const WORDS = 5;
const SEQUENCE = 4;

/** More than one try is needed only while the writer is in the middle of a write, or has died there. */
const TRIES = 16;

/**
 * Two numbers in memory shared by threads: one thread writes them, others read them consistently. A sequence lock in
 * which every access is atomic, hence in one order for all; the sequence is odd during a write. No access allocates.
 */
export class SharedPair {
  static readonly BYTES: number = WORDS * Int32Array.BYTES_PER_ELEMENT;
  readonly #shared: Int32Array;
  readonly #numbers = new Float64Array(2);
  readonly #words = new Int32Array(this.#numbers.buffer);
  #first = Number.NEGATIVE_INFINITY;
  #second = Number.NEGATIVE_INFINITY;

  constructor(memory: SharedArrayBuffer, byteOffset: number) {
    this.#shared = new Int32Array(memory, byteOffset, WORDS);
  }

  /** As last read here; negative infinity before that. */
  get first(): number {
    return this.#first;
  }

  get second(): number {
    return this.#second;
  }

  write(first: number, second: number): void {
    const sequence = Atomics.load(this.#shared, SEQUENCE);
    this.#numbers[0] = first;
    this.#numbers[1] = second;
    Atomics.store(this.#shared, SEQUENCE, sequence + 1);
    for (let i = 0; i < SEQUENCE; i++) Atomics.store(this.#shared, i, this.#words[i] as number);
    Atomics.store(this.#shared, SEQUENCE, sequence + 2);
  }

  /**
   * Reads what was written last, or keeps the old values if a write is in progress: callers must accept slightly old
   * values.
   */
  read(): void {
    for (let tries = 0; tries < TRIES; tries++) {
      const sequence = Atomics.load(this.#shared, SEQUENCE);
      if ((sequence & 1) === 1) continue;
      for (let i = 0; i < SEQUENCE; i++) this.#words[i] = Atomics.load(this.#shared, i);
      if (Atomics.load(this.#shared, SEQUENCE) !== sequence) continue;
      this.#first = this.#numbers[0] as number;
      this.#second = this.#numbers[1] as number;
      return;
    }
  }
}
