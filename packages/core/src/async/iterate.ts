import { type Signals, Wakeup } from "./wakeup.js";

type Generate<T> = (wakeup: Wakeup) => AsyncGenerator<T, undefined>;

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * An iterable over a generator that waits for things to happen. A plain generator cannot be left while it waits: its
 * `return()` hangs until the next event. So the generator waits on a `Wakeup` (or on its `signal`), which also ends when the
 * reader leaves. Every iteration has a generator of its own.
 *
 * When one of `signals` aborts, `next()` rejects with its reason, also if an event is ready, and later calls are done.
 */
export function iterate<T>(signals: Signals, generate: Generate<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new WakeupIterator(signals, generate) };
}

export class WakeupIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #wakeup: Wakeup;
  readonly #generator: AsyncGenerator<T, undefined>;
  /** How many calls of `next` are waiting. */
  #pulls = 0;
  #isDone = false;

  constructor(signals: Signals, generate: Generate<T>) {
    // A generator that is not asked for its next event does not notice the signal, but must release what it holds.
    this.#wakeup = new Wakeup(signals, () => {
      if (this.#pulls === 0) void this.#release();
    });
    this.#generator = generate(this.#wakeup);
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isDone) return DONE;
    this.#pulls += 1;
    try {
      this.#wakeup.throwIfOver();
      const result = await this.#generator.next();
      this.#wakeup.throwIfOver();
      if (result.done === true) this.#isDone = true;
      return result;
    } catch (error) {
      // A reader that has left gets no errors.
      if (this.#wakeup.hasLeft) return DONE;
      this.#isDone = true;
      void this.#release();
      throw error;
    } finally {
      this.#pulls -= 1;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#isDone = true;
    this.#wakeup.leave();
    await this.#release();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #release(): Promise<void> {
    // The code of a generator that was never started does not run at its end.
    this.#wakeup.remove();
    await this.#generator.return(undefined).catch(() => {});
  }
}
