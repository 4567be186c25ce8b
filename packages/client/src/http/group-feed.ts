/**
 * The events of one group as they arrive, for all watches of that group in this process. It keeps the latest events,
 * and each reader has its own position among them. A reader that falls further behind continues with a separate feed.
 */
import type { WatchEvent } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { Patience } from "./patience.js";

/** As many events as a service keeps: a reader further behind than this gets a RESYNC from the service too. */
const KEPT = 64;

export class GroupFeed {
  /** The cursor with which it was opened; without one, its first event is the state. */
  readonly from: number | undefined;
  /** How long its connection may be silent. */
  readonly patience: Patience;
  readonly #events: WatchEvent[] = [];
  /** The position of the first event that is kept; positions count from 0. */
  #first = 0;
  readonly #wakes = new Set<() => void>();
  readonly #ended: (feed: GroupFeed) => void;
  #readers = 0;
  readonly #contacts = new Set<(error: unknown) => void>();
  /** What was reported last: `undefined` nothing yet, `null` a server was reached, otherwise why none could be. */
  #contact: unknown = undefined;
  #failure: { readonly error: unknown } | null = null;

  constructor(
    from: number | undefined,
    patience: Patience,
    /** Called once, when the feed has no reader any more or has failed. */
    ended: (feed: GroupFeed) => void,
  ) {
    this.from = from;
    this.patience = patience;
    this.#ended = ended;
  }

  /** `onContact` is called with what is known already. */
  join(onContact: (error: unknown) => void): void {
    this.#readers++;
    this.#contacts.add(onContact);
    if (this.#contact !== undefined) onContact(this.#contact);
  }

  leave(onContact: (error: unknown) => void): void {
    this.#contacts.delete(onContact);
    if (--this.#readers === 0 && this.#failure === null) this.#ended(this);
  }

  /**
   * The position where a reader that has seen `cursor` continues; `null` if that cursor is not kept. `isSure`: the
   * service has just sent that cursor, so if it has not arrived here yet, it will.
   */
  placeAfter(cursor: number, isSure: boolean): number | null {
    const index = this.#events.findLastIndex((event) => event.cursor === cursor);
    if (index >= 0) return this.#first + index + 1;
    if (cursor === this.from && this.#first === 0) return 0;
    const last = this.#events.at(-1)?.cursor ?? this.from;
    return isSure && last !== undefined && cursor > last ? this.#first + this.#events.length : null;
  }

  /** The event at that position; `null` if it is no longer kept, `undefined` if it has not arrived yet. */
  at(place: number): WatchEvent | null | undefined {
    return place < this.#first ? null : this.#events[place - this.#first];
  }

  /** Resolves when there is an event at `place` or later, or throws why there will be none. */
  async more(place: number, signal: AbortSignal): Promise<void> {
    while (this.at(place) === undefined) {
      signal.throwIfAborted();
      if (this.#failure !== null) throw this.#failure.error;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#wakes.delete(wake);
          stopListening();
          resolve();
        };
        const stopListening = onAbort(signal, wake);
        this.#wakes.add(wake);
      });
    }
  }

  take(event: WatchEvent): void {
    this.#events.push(event);
    if (this.#events.length > KEPT) {
      this.#events.shift();
      this.#first++;
    }
    this.#wake();
  }

  contact(error: unknown): void {
    this.#contact = error;
    for (const tell of this.#contacts) tell(error);
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#ended(this);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }
}
