/**
 * The events of one group as they come, for all watches of that group in this process. It keeps the last of them, and each
 * reader its own place among them; one that falls further behind goes on by a feed of its own.
 */
import type { WatchEvent } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { Patience } from "./patience.js";

/** As many as a service keeps: whoever is further behind than this is told RESYNC by it, too. */
const KEPT = 64;

export class GroupFeed {
  /** The cursor from which it was opened; without one, its first event is the state. */
  readonly from: number | undefined;
  /** How long its connection may say nothing. */
  readonly patience: Patience;
  readonly #events: WatchEvent[] = [];
  /** The place of the first event that is kept; places count from 0. */
  #first = 0;
  readonly #wakes = new Set<() => void>();
  readonly #ended: (feed: GroupFeed) => void;
  #readers = 0;
  readonly #contacts = new Set<(error: unknown) => void>();
  /** What was reported last: `undefined` nothing yet, `null` a server was reached, else why none could be. */
  #contact: unknown = undefined;
  #failure: { readonly error: unknown } | null = null;

  constructor(
    from: number | undefined,
    patience: Patience,
    /** Called once, when it has no reader any more or has failed. */
    ended: (feed: GroupFeed) => void,
  ) {
    this.from = from;
    this.patience = patience;
    this.#ended = ended;
  }

  /** `onContact` is told what is known already. */
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
   * Where a reader goes on that has seen `cursor`; `null` if that is not among what is kept. `isSure`: the service has told
   * that cursor just now, so if it has not come here yet, it will.
   */
  placeAfter(cursor: number, isSure: boolean): number | null {
    const index = this.#events.findLastIndex((event) => event.cursor === cursor);
    if (index >= 0) return this.#first + index + 1;
    if (cursor === this.from && this.#first === 0) return 0;
    const last = this.#events.at(-1)?.cursor ?? this.from;
    return isSure && last !== undefined && cursor > last ? this.#first + this.#events.length : null;
  }

  /** The event at that place; `null` if it is not kept any more, `undefined` if it has not come yet. */
  at(place: number): WatchEvent | null | undefined {
    return place < this.#first ? null : this.#events[place - this.#first];
  }

  /** Until there is more than before `place`, or throws why there will not be. */
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
