import { type Signals, Wakeup } from "./wakeup.js";

/**
 * An iterable over a generator that waits for things to happen. A generator cannot be ended while it waits: its
 * `return()` would hang until the next event. So the generator waits on a `Wakeup`, which also resolves when the reader leaves.
 */
export function iterate<T>(
  signals: Signals,
  generate: (wakeup: Wakeup) => AsyncGenerator<T, undefined>,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new WakeupIterator(signals, generate) };
}

class WakeupIterator<T> implements AsyncIterator<T, undefined> {
  readonly #wakeup: Wakeup;
  readonly #generator: AsyncGenerator<T, undefined>;

  constructor(signals: Signals, generate: (wakeup: Wakeup) => AsyncGenerator<T, undefined>) {
    this.#wakeup = new Wakeup(signals);
    this.#generator = generate(this.#wakeup);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#generator.next().catch(this.#orDone);
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#wakeup.leave();
    // Where it was never asked for anything, no code of its own runs at its end.
    this.#wakeup.remove();
    return this.#generator.return(undefined).catch(this.#orDone);
  }

  /** To a reader that has left no failure is told any more. */
  readonly #orDone = (error: unknown): IteratorReturnResult<undefined> => {
    if (this.#wakeup.hasLeft) return { done: true, value: undefined };
    throw error;
  };
}
