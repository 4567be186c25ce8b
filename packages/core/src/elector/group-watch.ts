import type { WatchEvent } from "../elector.js";
import type { LeadershipEvent } from "../event.js";
import { eventsAfter } from "../history.js";
import { type Engine, refuseUnknown } from "./engine.js";
import type { GroupState } from "./group-state.js";
import { iterate } from "../async/iterate.js";
import type { ContactListener } from "./store-contact.js";
import { stateEvent, watchEvent } from "./views.js";
import type { Signals, Wakeup } from "../async/wakeup.js";

/**
 * Events of one group from a cursor on. Each iteration is a separate watch, until one of the signals ends it.
 * `listener` is notified whether the store can be heard.
 */
export function watchGroup(
  engine: Engine,
  groupId: string,
  from: number | undefined,
  signals: Signals,
  listener: ContactListener | null = null,
): AsyncIterable<WatchEvent> {
  return iterate(signals, (wakeup) => readEvents(engine, groupId, { from, listener }, wakeup));
}

interface ReadOptions {
  readonly from: number | undefined;
  readonly listener: ContactListener | null;
}

/**
 * Reads from what this process has seen when the reader is ready: first the record's own events, then the history's. A
 * gap may exist only in this server's view; it is a RESYNC once `Gap.isReal` confirms it.
 */
async function* readEvents(
  engine: Engine,
  groupId: string,
  { from, listener }: ReadOptions,
  wakeup: Wakeup,
): AsyncGenerator<WatchEvent, undefined> {
  const group = engine.obtain(groupId);
  wakeup.listenTo((wake) => group.listen(wake));
  if (listener !== null) wakeup.listenTo(() => engine.contact.join(listener));
  const state = (resync: boolean) => stateEvent(groupId, group.current(), resync, engine.clock.wallMs());
  try {
    wakeup.throwIfOver();
    let cursor = from;
    if (cursor === undefined || engine.explicitGroups) {
      await wakeup.unlessOver(engine.readBarrier.wait());
      if (!engine.exists(group.current())) refuseUnknown(groupId);
    }
    if (cursor === undefined) {
      const first = state(false);
      cursor = first.cursor;
      yield first;
    }
    for (;;) {
      wakeup.throwIfOver();
      let events = missingEvents(group, cursor);
      if (events === null) {
        const gap = new Gap(group);
        await wakeup.unlessOver(engine.readBarrier.wait());
        events = missingEvents(group, cursor);
        if (events === null && !gap.isReal) continue;
      }
      if (events === null) {
        const resync = state(true);
        cursor = resync.cursor;
        yield resync;
      } else if (events.length === 0) {
        await wakeup.wait();
      } else {
        for (const event of events) {
          cursor = event.number;
          yield watchEvent(groupId, event);
        }
      }
    }
  } finally {
    wakeup.remove();
    engine.forget(group);
  }
}

/**
 * Events that a watch misses, noted before a fresh read. The answer to a write shows a newer record at once, and the feed
 * shows the history that belongs to it later. A record that moved on during the read can have left the history behind
 * again, and only another fresh read shows whether events are missing.
 */
export class Gap {
  readonly #group: GroupState;
  readonly #eventNumber: number;

  constructor(group: GroupState) {
    this.#group = group;
    this.#eventNumber = group.record.eventNumber;
  }

  /** After the read. A record that stayed was written after the history up to it, unless the group was deleted. */
  get isReal(): boolean {
    const { record, historyNumber } = this.#group;
    const isHistoryBehind = historyNumber < record.eventNumber - record.events.length;
    return !isHistoryBehind || record.eventNumber === this.#eventNumber;
  }
}

/** The events after the cursor. `null`: some are missing, or the cursor is ahead of everything known. */
export function missingEvents(group: GroupState, cursor: number): readonly LeadershipEvent[] | null {
  const { eventNumber, events } = group.current();
  if (cursor === eventNumber) return [];
  if (cursor > eventNumber) return null;
  if (cursor >= eventNumber - events.length) return eventsAfter(events, cursor);
  return eventsAfter(
    [...group.history().events, ...events.filter(({ number }) => number > group.historyNumber)],
    cursor,
  );
}
