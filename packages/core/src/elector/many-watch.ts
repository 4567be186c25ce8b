/**
 * Watches of several groups as one, with one reader for all. A group costs its cursor and one listener, and events of a
 * thousand groups at once take one turn of the reader for each hundred of them.
 *
 * The invariant of one watch holds for each group by itself: events in order, none skipped and none repeated within those that
 * are kept, past that one RESYNC. A slow reader costs nothing: a group that changes again while it is queued keeps its
 * one place in the queue, and its events are read when its turn comes.
 */
import { checkId } from "../check.js";
import type { GroupWatch, WatchManyItem } from "../elector-admin.js";
import { TenureError } from "../errors.js";
import { type Engine, refuseUnknown } from "./engine.js";
import { Fifo } from "./fifo.js";
import type { GroupState } from "./group-state.js";
import { Gap, missingEvents } from "./group-watch.js";
import { iterate } from "../async/iterate.js";
import { checkCursor } from "./requests.js";
import { stateEvent, watchEvent } from "./views.js";
import type { Signals, Wakeup } from "../async/wakeup.js";

/**
 * Groups that are opened, read or closed in one turn of the event loop, about a millisecond of work. So a renewal waits
 * neither for the thousand groups of one watch nor for fifty such watches that end together.
 */
const SLICE_WATCHES = 100;

export function watchMany(
  engine: Engine,
  watches: readonly GroupWatch[],
  signals: Signals,
): AsyncIterable<readonly WatchManyItem[]> {
  return iterate(signals, (wakeup) => readMany(new ManyWatch(engine, wakeup), watches));
}

async function* readMany(
  many: ManyWatch,
  watches: readonly GroupWatch[],
): AsyncGenerator<readonly WatchManyItem[], undefined> {
  try {
    await many.refreshFor(watches);
    for (let from = 0; from < watches.length; from += SLICE_WATCHES) {
      await many.turn();
      const refused = many.open(watches.slice(from, from + SLICE_WATCHES));
      const items = [...refused, ...(await many.read())];
      if (items.length > 0) yield items;
    }
    for (;;) {
      const items = await many.read();
      if (items.length > 0) yield items;
      await many.changed();
    }
  } finally {
    await many.close();
  }
}

/** The state of one group within the watch. Without a cursor the group's state is shown first. */
interface Watched {
  readonly group: GroupState;
  cursor: number | undefined;
  /** Nothing was reported for it yet. */
  isNew: boolean;
  isQueued: boolean;
  stopListening: () => void;
}

class ManyWatch {
  readonly #engine: Engine;
  readonly #wakeup: Wakeup;
  readonly #watched = new Set<Watched>();
  /** Groups that may have something new, in the order of their changes. */
  readonly #queue = new Fifo<Watched>();
  #wake: () => void = () => {};

  constructor(engine: Engine, wakeup: Wakeup) {
    this.#engine = engine;
    this.#wakeup = wakeup;
    wakeup.listenTo((wake) => {
      this.#wake = wake;
      return () => {};
    });
  }

  /** A state, and whether a group exists, may be reported only from a fresh record. One read serves all. */
  async refreshFor(watches: readonly GroupWatch[]): Promise<void> {
    this.#wakeup.throwIfOver();
    const needed = this.#engine.explicitGroups || watches.some(({ cursor }) => cursor === undefined);
    if (needed) await this.#wakeup.unlessOver(this.#engine.readBarrier.wait());
  }

  async turn(): Promise<void> {
    await this.#wakeup.unlessOver(this.#engine.slices.turn());
  }

  /** Returns the groups that cannot be watched, with the reason. */
  open(watches: readonly GroupWatch[]): readonly WatchManyItem[] {
    return watches.flatMap(({ groupId, cursor }) => {
      try {
        this.#add(checkId(groupId, "groupId"), checkCursor(cursor));
        return [];
      } catch (error) {
        return [refusal(groupId, error)];
      }
    });
  }

  /** The news of the next groups in the queue, at most one slice of groups. */
  async read(): Promise<readonly WatchManyItem[]> {
    const items: WatchManyItem[] = [];
    const behind: { readonly watched: Watched; readonly gap: Gap }[] = [];
    for (let left = SLICE_WATCHES; left > 0; left--) {
      const watched = this.#queue.shift();
      if (watched === undefined) break;
      watched.isQueued = false;
      if (!this.#watched.has(watched)) continue;
      if (!this.#tell(watched, items, false)) behind.push({ watched, gap: new Gap(watched.group) });
    }
    // A gap may be only this server's view; it is a RESYNC once a fresh read has shown it so.
    if (behind.length > 0) await this.#wakeup.unlessOver(this.#engine.readBarrier.wait());
    for (const { watched, gap } of behind)
      if (!this.#tell(watched, items, gap.isReal)) this.#enqueue(watched);
    return items;
  }

  /** Resolves when there is something to read. If that follows at once, it lets one turn pass. */
  async changed(): Promise<void> {
    if (this.#queue.size > 0) await this.turn();
    else await this.#wakeup.wait();
  }

  async close(): Promise<void> {
    this.#wakeup.remove();
    let count = 0;
    for (const watched of this.#watched) {
      if (++count % SLICE_WATCHES === 0) await this.#engine.slices.turn();
      this.#remove(watched);
    }
  }

  #add(groupId: string, cursor: number | undefined): void {
    const group = this.#engine.obtain(groupId);
    const watched: Watched = { group, cursor, isNew: true, isQueued: false, stopListening: () => {} };
    watched.stopListening = group.listen(() => this.#enqueue(watched));
    this.#watched.add(watched);
    this.#enqueue(watched);
  }

  #enqueue(watched: Watched): void {
    if (watched.isQueued) return;
    watched.isQueued = true;
    this.#queue.push(watched);
    this.#wake();
  }

  /** False if events are missing and may come with a fresh read. */
  #tell(watched: Watched, items: WatchManyItem[], isGapReal: boolean): boolean {
    const { group } = watched;
    try {
      if (watched.isNew && !this.#engine.exists(group.current())) refuseUnknown(group.groupId);
      watched.isNew = false;
      const events = watched.cursor === undefined ? null : missingEvents(group, watched.cursor);
      if (events === null) {
        const isFirst = watched.cursor === undefined;
        if (!isFirst && !isGapReal) return false;
        const state = stateEvent(group.groupId, group.current(), !isFirst, this.#engine.clock.wallMs());
        watched.cursor = state.cursor;
        items.push(state);
        return true;
      }
      for (const event of events) items.push(watchEvent(group.groupId, event));
      watched.cursor = events.at(-1)?.number ?? watched.cursor;
    } catch (error) {
      this.#remove(watched);
      items.push(refusal(group.groupId, error));
    }
    return true;
  }

  #remove(watched: Watched): void {
    this.#watched.delete(watched);
    watched.stopListening();
    this.#engine.forget(watched.group);
  }
}

/** An error of one group ends that group's part only; a fault of this program ends the watch. */
function refusal(groupId: string, error: unknown): WatchManyItem {
  if (error instanceof TenureError) return { groupId, error };
  throw error;
}
