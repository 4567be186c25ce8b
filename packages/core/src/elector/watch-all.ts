import type { WatchAllOptions, WatchEvent } from "../elector.js";
import type { Engine } from "./engine.js";
import { type LogEntry, partCursor, wholeCursor } from "./event-log.js";
import { iterate } from "../async/iterate.js";
import { SLICE_GROUPS } from "./slices.js";
import { stateAfter, watchEvent } from "./views.js";
import type { Signals, Wakeup } from "../async/wakeup.js";

/**
 * Events of all groups that the caller may see. Without a cursor the state of each led group comes first; from a cursor
 * older than what is kept, the state of every group, each as a RESYNC.
 */
export function watchAll(
  engine: Engine,
  options: Omit<WatchAllOptions, "signal">,
  signals: Signals,
): AsyncIterable<WatchEvent> {
  return iterate(signals, (wakeup) => new Reader(engine, options, wakeup).read());
}

/** Where events continue after what was shown; `null`: the log has moved past it meanwhile. */
type Position = number | null;

class Reader {
  readonly #engine: Engine;
  readonly #options: Omit<WatchAllOptions, "signal">;
  readonly #maySee: (groupId: string) => boolean;
  readonly #wakeup: Wakeup;

  constructor(engine: Engine, options: Omit<WatchAllOptions, "signal">, wakeup: Wakeup) {
    this.#engine = engine;
    this.#options = options;
    this.#maySee = options.maySee ?? (() => true);
    this.#wakeup = wakeup;
  }

  async *read(): AsyncGenerator<WatchEvent, undefined> {
    const wakeup = this.#wakeup;
    wakeup.listenTo((wake) => this.#engine.log.listen(wake));
    try {
      wakeup.throwIfOver();
      let position = yield* this.#begin();
      for (;;) {
        wakeup.throwIfOver();
        const entries = position === null ? null : this.#engine.log.read(position);
        if (position === null || entries === null) {
          position = yield* this.#resync();
        } else if (entries.length === 0) {
          await wakeup.wait();
        } else {
          yield* this.#ranges(entries);
          position += entries.length;
        }
      }
    } finally {
      wakeup.remove();
    }
  }

  async *#begin(): AsyncGenerator<WatchEvent, Position> {
    const { cursor, statesAfter } = this.#options;
    const { log, readBarrier } = this.#engine;
    if (cursor === undefined) {
      await this.#wakeup.unlessOver(readBarrier.wait());
      return yield* this.#states(false, "", { position: log.end, cursor: log.cursor });
    }
    let resumption = log.seek(cursor);
    if (resumption === null) {
      await this.#wakeup.unlessOver(readBarrier.wait());
      resumption = log.seek(cursor);
    }
    if (resumption === null) return null;
    const { first, position, from, to } = resumption;
    if (statesAfter !== undefined) {
      // The other states were as of the cursor. These can be so only if the cursor lies between two ranges of this
      // server.
      if (first.length > 0 || cursor % 2 === 1) return null;
      return yield* this.#states(statesAfter.resync, statesAfter.groupId, { position, cursor });
    }
    yield* this.#range(first, from, to);
    return position;
  }

  async *#resync(): AsyncGenerator<WatchEvent, Position> {
    const { log, readBarrier } = this.#engine;
    await this.#wakeup.unlessOver(readBarrier.wait());
    return yield* this.#states(true, "", { position: log.end, cursor: log.cursor });
  }

  async *#ranges(entries: readonly LogEntry[]): AsyncGenerator<WatchEvent, undefined> {
    let start = 0;
    for (let index = 1; index <= entries.length; index++) {
      const { from, to } = entries[start] as LogEntry;
      if (entries[index]?.to === to) continue;
      yield* this.#range(entries.slice(start, index), from, to);
      start = index;
    }
  }

  /** Only the last event of a range carries a cursor for all of it. */
  async *#range(
    entries: readonly LogEntry[],
    from: number,
    to: number,
  ): AsyncGenerator<WatchEvent, undefined> {
    let last: WatchEvent | null = null;
    for (const [index, entry] of entries.entries()) {
      // Groups that the caller may not see are skipped, and skipping many must not take long in one turn.
      if (index % SLICE_GROUPS === SLICE_GROUPS - 1)
        await this.#wakeup.unlessOver(this.#engine.slices.turn());
      if (!this.#maySee(entry.groupId)) continue;
      for (const event of this.#told(entry)) {
        if (last !== null) yield { ...last, cursor: partCursor(from) };
        last = event;
      }
    }
    if (last !== null) yield { ...last, cursor: wholeCursor(to) };
  }

  #told({ groupId, events, number }: LogEntry): readonly WatchEvent[] {
    if (events !== null) return events.map((event) => watchEvent(groupId, event));
    const group = this.#engine.groups.get(groupId);
    if (group === undefined || group.isUnreadable) return [];
    return [stateAfter(group, number, true, this.#engine.clock.wallMs())];
  }

  /**
   * The states of all groups in order of id, a slice per turn, each as it was at `start`. What was logged since then is
   * reported by the events that follow.
   */
  async *#states(
    resync: boolean,
    afterId: string,
    start: { readonly position: number; readonly cursor: number },
  ): AsyncGenerator<WatchEvent, Position> {
    const { log, groups, slices } = this.#engine;
    const { cursor } = start;
    const numbers = new Map<string, number>();
    let position = start.position;
    let last: WatchEvent | null = null;
    for (let place = afterId; ;) {
      const { wallMs } = await this.#wakeup.unlessOver(slices.turn());
      const news = log.read(position);
      if (news === null) return null;
      position += news.length;
      for (const { groupId, events, number } of [...news, ...log.held]) {
        if (!numbers.has(groupId)) numbers.set(groupId, (events?.[0]?.number ?? number + 1) - 1);
      }
      const slice = groups.from(place, place === "", SLICE_GROUPS);
      const states: WatchEvent[] = [];
      for (const group of slice) {
        const { groupId, revision, isUnreadable, loggedNumber } = group;
        if (revision === null || isUnreadable || !this.#maySee(groupId)) continue;
        const state = stateAfter(group, numbers.get(groupId) ?? loggedNumber, resync, wallMs);
        if (state.type !== "LEADER_LOST") states.push(state);
      }
      for (const state of states) {
        if (last !== null) yield { ...last, cursor, partial: true };
        last = state;
      }
      const lastId = slice.at(-1)?.groupId;
      if (lastId === undefined) break;
      place = lastId;
    }
    if (last !== null) yield { ...last, cursor };
    return start.position;
  }
}
