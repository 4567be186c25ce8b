/**
 * The latest events of all groups in the order of the store, for those who watch everything.
 *
 * A place in it is made of the revision of the write that brought the event, so it means the same at every server that
 * has followed the store since. It goes back as far as this process has seen without a break: not beyond its start, nor
 * beyond a feed that had to be opened anew.
 */
import type { LeadershipEvent } from "../event.js";
import type { Revision } from "../store/store.js";

export interface LoggedEvent {
  readonly groupId: string;
  readonly event: LeadershipEvent;
  readonly place: number;
}

/** Room for the events of one revision: some engines give one to a whole batch. */
const PLACES_PER_REVISION = 512;
/**
 * Places are safe integers. Revisions may take all of that range by themselves (ZooKeeper's have the number of its
 * elections in their upper half), so after so many of them places begin anew, which is a break like any other.
 */
const REVISIONS_PER_ROUND = 2 ** 44;
const HALF_A_ROUND = (REVISIONS_PER_ROUND / 2) * PLACES_PER_REVISION;
const EVENTS_KEPT = 16_384;

export class EventLog {
  #events: LoggedEvent[] = [];
  /** Everything after this place is here. */
  #from = 0;
  #last = 0;
  readonly #listeners = new Set<() => void>();

  /** The place after which all that comes will be logged. */
  get last(): number {
    return this.#last;
  }

  /** Calls `wake` when there is more; returns how to stop that. */
  listen(wake: () => void): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  append(groupId: string, events: readonly LeadershipEvent[], revision: Revision): void {
    const first = firstPlace(revision);
    if (first < this.#last - HALF_A_ROUND) return this.restart(revision);
    for (const event of events) {
      this.#last = Math.max(first, this.#last + 1);
      this.#events.push({ groupId, event, place: this.#last });
    }
    // Half at a time, so that it costs nothing to speak of.
    if (this.#events.length > 2 * EVENTS_KEPT) {
      this.#from = this.#events[EVENTS_KEPT - 1]?.place ?? this.#from;
      this.#events = this.#events.slice(EVENTS_KEPT);
    }
    for (const wake of this.#listeners) wake();
  }

  /** What came between is not known: nobody can go on from before. */
  restart(revision: Revision): void {
    this.#events = [];
    this.#last = firstPlace(revision) + (PLACES_PER_REVISION - 1);
    this.#from = this.#last;
    for (const wake of this.#listeners) wake();
  }

  /** The events after `place`; `null` if some of them are not here, or it lies ahead of all that is known. */
  after(place: number): readonly LoggedEvent[] | null {
    if (place < this.#from || place > this.#last) return null;
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle] as LoggedEvent).place > place) high = middle;
      else low = middle + 1;
    }
    return this.#events.slice(low);
  }
}

function firstPlace(revision: Revision): number {
  return (revision % REVISIONS_PER_ROUND) * PLACES_PER_REVISION;
}
