import type { WatchEvent } from "@tenure/core";
import { asServiceError } from "./service-error.js";
import { eventShape } from "./wire/codec.js";
import type { EventShape } from "./wire/shapes.js";

/** An event with the cursor to resume from. */
export interface WatchItem {
  readonly event: EventShape;
  readonly cursor: number;
}

/** What a stream tells. `cursor: null`: what it says has its own place in it. */
export interface StreamItem {
  readonly event: object;
  readonly cursor: number | null;
}

export interface WatchParts {
  readonly events: AsyncIterable<WatchEvent>;
  readonly mayTell: (event: WatchEvent) => boolean;
  /** Called at the end, once. */
  readonly leave: () => void;
}

/**
 * The events of the elector in the words of the wire. It ends by throwing, as those do. Not a generator: `return` ends
 * one of these while it waits for its next event.
 */
export class Watch implements AsyncIterableIterator<WatchItem, undefined> {
  readonly #events: AsyncIterator<WatchEvent>;
  readonly #mayTell: (event: WatchEvent) => boolean;
  readonly #leave: () => void;

  constructor({ events, mayTell, leave }: WatchParts) {
    this.#events = events[Symbol.asyncIterator]();
    this.#mayTell = mayTell;
    this.#leave = leave;
  }

  async next(): Promise<IteratorResult<WatchItem, undefined>> {
    try {
      for (;;) {
        const result = await this.#events.next();
        if (result.done === true) {
          this.#leave();
          return { done: true, value: undefined };
        }
        const event = result.value;
        if (!this.#mayTell(event)) continue;
        return { done: false, value: { event: eventShape(event.groupId, event), cursor: event.cursor } };
      }
    } catch (error) {
      this.#leave();
      throw asServiceError(error);
    }
  }

  async return(): Promise<IteratorResult<WatchItem, undefined>> {
    this.#leave();
    await this.#events.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
