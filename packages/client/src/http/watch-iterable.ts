import { onAbort } from "@tenure/core/internal";

/**
 * An iterable over a generator that waits for things to happen. A generator cannot be ended while it waits: so it
 * waits by a signal, which is aborted by whoever may end it, its reader among them.
 */
export function watchIterable<T>(
  signals: readonly (AbortSignal | undefined)[],
  generate: (signal: AbortSignal) => AsyncGenerator<T, undefined>,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new WatchIterator(signals, generate) };
}

class WatchIterator<T> implements AsyncIterator<T, undefined> {
  readonly #ending = new AbortController();
  readonly #generator: AsyncGenerator<T, undefined>;
  readonly #signals: readonly AbortSignal[];
  #stopListening: (() => void) | null = null;
  #hasLeft = false;
  /** How many calls of `next` wait. */
  #pulling = 0;

  constructor(
    signals: readonly (AbortSignal | undefined)[],
    generate: (signal: AbortSignal) => AsyncGenerator<T, undefined>,
  ) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    this.#generator = generate(this.#ending.signal);
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    this.#listen();
    try {
      // Also where an event is there already: after the end nothing more is told.
      if (!this.#hasLeft) this.#ending.signal.throwIfAborted();
      this.#pulling++;
      const result = await this.#generator.next().finally(() => this.#pulling--);
      if (result.done === true) this.#unlisten();
      return result;
    } catch (error) {
      this.#unlisten();
      void this.#generator.return(undefined).catch(() => {});
      if (this.#hasLeft) return { done: true, value: undefined };
      this.#hasLeft = true;
      throw error;
    }
  }

  /** To a reader that has left no failure is told any more. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#hasLeft = true;
    this.#unlisten();
    this.#ending.abort(new Error("the reader has left"));
    await this.#generator.return(undefined).catch(() => {});
    return { done: true, value: undefined };
  }

  /** From the first `next` on: what was never asked for anything leaves nothing behind. */
  #listen(): void {
    if (this.#stopListening !== null || this.#hasLeft) return;
    const end = ({ reason }: AbortSignal) => {
      this.#ending.abort(reason);
      // A generator that nobody has asked for more does not hear the signal: it must let go of its connection all the same.
      if (this.#pulling === 0) void this.#generator.return(undefined).catch(() => {});
    };
    const stops = this.#signals.map((signal) => {
      if (signal.aborted) this.#ending.abort(signal.reason);
      return onAbort(signal, () => end(signal));
    });
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
  }

  #unlisten(): void {
    this.#stopListening?.();
    this.#stopListening = () => {};
  }
}
