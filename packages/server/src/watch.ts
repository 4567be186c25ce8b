import { eventShape, type shapes } from "@tenure/api";
import type { WatchEvent } from "@tenure/core";
import { EVENTS_PER_REQUEST } from "./limits/admission.js";
import { asServiceError } from "./service-error.js";

/** An event with the cursor to resume from. */
export interface WatchItem {
  readonly event: shapes.EventShape;
  readonly cursor: number;
  /** More states of the same cursor follow. */
  readonly partial: boolean;
}

/** What a stream sends. `cursor: null`: the event contains its own cursor. */
export interface StreamItem {
  readonly event: object;
  readonly cursor: number | null;
  readonly partial?: boolean;
}

export interface WatchDeps {
  readonly events: AsyncIterable<WatchEvent>;
  /** What is sent counts as requests of the caller. */
  readonly charge?: ((cost: number) => void) | undefined;
  /** Called at the end, once. */
  readonly leave: () => void;
}

/**
 * The events of the elector in the words of the wire. It ends by throwing, as those do. Not a generator: `return` ends
 * one of these while it waits for its next event.
 */
export class Watch implements AsyncIterableIterator<WatchItem, undefined> {
  readonly #events: AsyncIterator<WatchEvent>;
  readonly #charge: ((cost: number) => void) | undefined;
  readonly #leave: () => void;
  #sent = 0;

  constructor({ events, charge, leave }: WatchDeps) {
    this.#events = events[Symbol.asyncIterator]();
    this.#charge = charge;
    this.#leave = leave;
  }

  async next(): Promise<IteratorResult<WatchItem, undefined>> {
    try {
      const result = await this.#events.next();
      if (result.done === true) {
        this.#leave();
        return { done: true, value: undefined };
      }
      const event = result.value;
      if (++this.#sent % EVENTS_PER_REQUEST === 0) this.#charge?.(1);
      return { done: false, value: itemOf(event) };
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

const items = new WeakMap<WatchEvent, WatchItem>();

/** The same object for the same event, which all watches of a group get. */
function itemOf(event: WatchEvent): WatchItem {
  let item = items.get(event);
  if (item === undefined) {
    item = {
      event: eventShape(event.groupId, event),
      cursor: event.cursor,
      partial: event.partial === true,
    };
    items.set(event, item);
  }
  return item;
}
