/**
 * The watches of single groups. Watches of one group share a feed while they are at about the same position. A watch
 * has a separate feed if it resumes from further back, reads more slowly than the group changes, or accepts less
 * silence than the feed. All feeds share connections.
 */
import type { WatchEvent } from "@tenure/core";
import { GroupFeed } from "./group-feed.js";
import { type Patience, suffices } from "./patience.js";
import type { GroupSubscription } from "./shared-stream.js";

export interface GroupWatchesParts {
  /** Begins to deliver the events of a group, across all breaks; returns the function that ends it. */
  readonly join: (subscription: GroupSubscription) => () => void;
  /** The current state of a group, as the first event of a watch would show it. */
  readonly state: (groupId: string, signal: AbortSignal) => Promise<WatchEvent>;
}

export interface GroupWatchOptions {
  readonly cursor: number | undefined;
  readonly patience: Patience;
  readonly onContact: (error: unknown) => void;
}

interface JoinOptions {
  readonly cursor: number | undefined;
  readonly patience: Patience;
  /** The service has just sent that cursor. */
  readonly isSure: boolean;
  readonly contact: (error: unknown) => void;
}

export class GroupWatches {
  readonly #parts: GroupWatchesParts;
  readonly #shared = new Map<string, GroupFeed>();

  constructor(parts: GroupWatchesParts) {
    this.#parts = parts;
  }

  async *watch(
    groupId: string,
    { cursor: from, patience, onContact }: GroupWatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent, undefined> {
    signal.throwIfAborted();
    // A separate function for each watch: two watches may be given the same one.
    const contact = (error: unknown) => onContact(error);
    let cursor = from;
    let isSure = false;
    if (cursor === undefined && this.#shared.has(groupId)) {
      const state = await this.#parts.state(groupId, signal);
      cursor = state.cursor;
      isSure = true;
      yield state;
    }
    for (;;) {
      const { feed, place: start } = this.#join(groupId, { cursor, patience, isSure, contact });
      isSure = false;
      try {
        for (let place = start; ; place++) {
          await feed.more(place, signal);
          signal.throwIfAborted();
          const event = feed.at(place);
          // The reader is too slow for what is kept: continue from the last cursor.
          if (event === null || event === undefined) break;
          if (isSeen(event, cursor)) continue;
          cursor = event.cursor;
          yield event;
        }
      } finally {
        feed.leave(contact);
      }
    }
  }

  #join(
    groupId: string,
    { cursor, patience, isSure, contact }: JoinOptions,
  ): { feed: GroupFeed; place: number } {
    const known = this.#shared.get(groupId);
    const shared = known !== undefined && suffices(known.patience, patience) ? known : undefined;
    const place = cursor === undefined ? null : (shared?.placeAfter(cursor, isSure) ?? null);
    if (shared !== undefined && place !== null) {
      shared.join(contact);
      return { feed: shared, place };
    }
    const feed: GroupFeed = new GroupFeed(cursor, patience, (ended) => {
      if (this.#shared.get(groupId) === ended) this.#shared.delete(groupId);
      leave();
    });
    const leave = this.#parts.join({
      groupId,
      cursor,
      patience,
      contact: (error) => feed.contact(error),
      take: (event) => feed.take(event),
      fail: (error) => feed.fail(error),
    });
    if (shared === undefined) this.#shared.set(groupId, feed);
    feed.join(contact);
    return { feed, place: 0 };
  }
}

/** A RESYNC to the reader's own position is no news; at any other position, also further back, it is. */
function isSeen(event: WatchEvent, cursor: number | undefined): boolean {
  if (cursor === undefined) return false;
  return event.type === "RESYNC" ? event.cursor === cursor : event.cursor <= cursor;
}
