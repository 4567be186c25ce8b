/**
 * The watches of single groups. All watches of one group share one connection as long as they are about equally far: one
 * that resumes from further back, or reads more slowly than the group changes, has its own.
 *
 * Not one connection for all groups: `GET /v1/watch` brings every event of every group that the caller may see, which for
 * a process that looks at a few of a hundred thousand groups is the whole load of the service; and its events do not
 * carry their number in the group, by which a watch resumes.
 */
import type { WatchEvent } from "@tenure/core";
import { GroupFeed } from "./group-feed.js";

export interface GroupWatchesParts {
  /** Events of a group from a cursor on, reconnecting by itself. */
  readonly open: (
    groupId: string,
    cursor: number | undefined,
    signal: AbortSignal,
  ) => AsyncIterable<WatchEvent>;
  /** The current state of a group, as the first event of a watch would show it. */
  readonly state: (groupId: string, signal: AbortSignal) => Promise<WatchEvent>;
}

export class GroupWatches {
  readonly #parts: GroupWatchesParts;
  readonly #shared = new Map<string, GroupFeed>();

  constructor(parts: GroupWatchesParts) {
    this.#parts = parts;
  }

  async *watch(
    groupId: string,
    from: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent, undefined> {
    signal.throwIfAborted();
    let cursor = from;
    let isSure = false;
    if (cursor === undefined && this.#shared.has(groupId)) {
      const state = await this.#parts.state(groupId, signal);
      cursor = state.cursor;
      isSure = true;
      yield state;
    }
    for (;;) {
      const { feed, place: start } = this.#join(groupId, cursor, isSure);
      isSure = false;
      try {
        for (let place = start; ; place++) {
          await feed.more(place, signal);
          signal.throwIfAborted();
          const event = feed.at(place);
          // Too slow for what is kept: on from the last cursor.
          if (event === null || event === undefined) break;
          if (isSeen(event, cursor)) continue;
          cursor = event.cursor;
          yield event;
        }
      } finally {
        feed.leave();
      }
    }
  }

  #join(groupId: string, cursor: number | undefined, isSure: boolean): { feed: GroupFeed; place: number } {
    const shared = this.#shared.get(groupId);
    const place = cursor === undefined ? null : (shared?.placeAfter(cursor, isSure) ?? null);
    if (shared !== undefined && place !== null) {
      shared.join();
      return { feed: shared, place };
    }
    const feed = new GroupFeed(
      cursor,
      (signal) => this.#parts.open(groupId, cursor, signal),
      (ended) => {
        if (this.#shared.get(groupId) === ended) this.#shared.delete(groupId);
      },
    );
    if (shared === undefined) this.#shared.set(groupId, feed);
    feed.join();
    return { feed, place: 0 };
  }
}

/** A RESYNC to where the reader is already tells it nothing; elsewhere, also further back, it does. */
function isSeen(event: WatchEvent, cursor: number | undefined): boolean {
  if (cursor === undefined) return false;
  return event.type === "RESYNC" ? event.cursor === cursor : event.cursor <= cursor;
}
