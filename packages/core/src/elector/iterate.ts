export type Signals = readonly (AbortSignal | undefined)[];

/**
 * An iterable over a generator that waits for things to happen. A generator cannot be ended while it waits: its
 * `return()` would hang until the next event. So it is given one more signal, which ends that wait.
 */
export function iterate<T>(
  signals: Signals,
  generate: (signals: Signals) => AsyncGenerator<T, undefined>,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => {
      const left = new AbortController();
      const generator = generate([...signals, left.signal]);
      /** The reader has left: no failure is told any more. */
      const orDone = (error: unknown): IteratorReturnResult<undefined> => {
        if (left.signal.aborted) return { done: true, value: undefined };
        throw error;
      };
      return {
        next: () => generator.next().catch(orDone),
        return: () => {
          left.abort();
          return generator.return(undefined).catch(orDone);
        },
      };
    },
  };
}
