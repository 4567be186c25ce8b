import type { WatchEvent } from "@tenure/core";
import type { ObservedEvents } from "./observed-events.js";

/** Events from a cursor on, until one of the signals ends it; each iteration is a watch of its own. */
export function watchObserved(
  events: ObservedEvents,
  from: number | undefined,
  signals: readonly (AbortSignal | undefined)[],
): AsyncIterable<WatchEvent> {
  return { [Symbol.asyncIterator]: () => new ObservedWatch(events, from, signals) };
}

/** Not a generator: that could not be ended while it waits. */
class ObservedWatch implements AsyncIterator<WatchEvent, undefined> {
  readonly #events: ObservedEvents;
  readonly #leaving = new AbortController();
  readonly #ended: AbortSignal;
  readonly #ready: WatchEvent[] = [];
  #cursor: number | undefined;
  #isOver = false;

  constructor(
    events: ObservedEvents,
    from: number | undefined,
    signals: readonly (AbortSignal | undefined)[],
  ) {
    this.#events = events;
    this.#cursor = from;
    this.#ended = AbortSignal.any([
      this.#leaving.signal,
      ...signals.filter((signal) => signal !== undefined),
    ]);
  }

  async next(): Promise<IteratorResult<WatchEvent, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    try {
      // Also where an event is there already: after the end nothing more is told.
      await Promise.resolve();
      for (;;) {
        this.#ended.throwIfAborted();
        if (this.#ready.length === 0) this.#ready.push(...this.#events.after(this.#cursor));
        const event = this.#ready.shift();
        if (event !== undefined) {
          this.#cursor = event.cursor;
          return { done: false, value: event };
        }
        await this.#events.next(this.#ended);
      }
    } catch (error) {
      this.#isOver = true;
      // To a reader that has left no failure is told any more.
      if (this.#leaving.signal.aborted) return { done: true, value: undefined };
      throw error;
    }
  }

  async return(): Promise<IteratorResult<WatchEvent, undefined>> {
    this.#isOver = true;
    this.#leaving.abort(new Error("the reader has left"));
    return { done: true, value: undefined };
  }
}
