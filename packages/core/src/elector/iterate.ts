import { Bell, type Signals } from "./bell.js";

/**
 * An iterable over a generator that waits for things to happen. A generator cannot be ended while it waits: its
 * `return()` would hang until the next event. So it waits by a bell, which rings when its reader leaves.
 */
export function iterate<T>(
  signals: Signals,
  generate: (bell: Bell) => AsyncGenerator<T, undefined>,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new BellIterator(signals, generate) };
}

class BellIterator<T> implements AsyncIterator<T, undefined> {
  readonly #bell: Bell;
  readonly #generator: AsyncGenerator<T, undefined>;

  constructor(signals: Signals, generate: (bell: Bell) => AsyncGenerator<T, undefined>) {
    this.#bell = new Bell(signals);
    this.#generator = generate(this.#bell);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#generator.next().catch(this.#orDone);
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#bell.leave();
    // Where it was never asked for anything, no code of its own runs at its end.
    this.#bell.remove();
    return this.#generator.return(undefined).catch(this.#orDone);
  }

  /** To a reader that has left no failure is told any more. */
  readonly #orDone = (error: unknown): IteratorReturnResult<undefined> => {
    if (this.#bell.hasLeft) return { done: true, value: undefined };
    throw error;
  };
}
