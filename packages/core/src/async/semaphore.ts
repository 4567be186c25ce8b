import { onAbort } from "./on-abort.js";

/** Runs at most `maxAtOnce` calls at once; the others wait, first come first served. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(maxAtOnce: number) {
    this.#free = maxAtOnce;
  }

  async run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const enter = () => {
        stopListening();
        resolve();
      };
      const stopListening = onAbort(signal, () => {
        this.#waiting.delete(enter);
        reject(signal?.reason as Error);
      });
      this.#waiting.add(enter);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
