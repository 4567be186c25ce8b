import type { WatchEvent } from "../elector.js";
import type { LeadershipEvent } from "../event.js";
import { eventsAfter } from "../history.js";
import type { Bell, Signals } from "./bell.js";
import { type Engine, refuseUnknown } from "./engine.js";
import type { GroupState } from "./group-state.js";
import { iterate } from "./iterate.js";
import { stateEvent, watchEvent } from "./views.js";

/** Events of one group from a cursor on; each iteration is a watch of its own, until one of the signals ends it. */
export function watchGroup(
  engine: Engine,
  groupId: string,
  from: number | undefined,
  signals: Signals,
): AsyncIterable<WatchEvent> {
  return iterate(signals, (bell) => readEvents(engine, groupId, from, bell));
}

/**
 * Pulled from what this process has seen when the reader is ready: first the record's own events, then the history's. A
 * gap may be only this server's view; it is a RESYNC once a sync has shown it so.
 */
async function* readEvents(
  engine: Engine,
  groupId: string,
  from: number | undefined,
  bell: Bell,
): AsyncGenerator<WatchEvent, undefined> {
  const group = engine.obtain(groupId);
  bell.listenTo((wake) => group.listen(wake));
  const state = (resync: boolean) => stateEvent(groupId, group.current(), resync, engine.clock.wallMs());
  try {
    bell.throwIfOver();
    let cursor = from;
    if (cursor === undefined || engine.explicitGroups) {
      await bell.unlessOver(engine.freshness.fresh());
      if (!engine.exists(group.current())) refuseUnknown(groupId);
    }
    if (cursor === undefined) {
      const first = state(false);
      cursor = first.cursor;
      yield first;
    }
    for (;;) {
      bell.throwIfOver();
      let events = missingEvents(group, cursor);
      if (events === null) {
        await bell.unlessOver(engine.freshness.fresh());
        events = missingEvents(group, cursor);
      }
      if (events === null) {
        const resync = state(true);
        cursor = resync.cursor;
        yield resync;
      } else if (events.length === 0) {
        await bell.rung();
      } else {
        for (const event of events) {
          cursor = event.number;
          yield watchEvent(groupId, event);
        }
      }
    }
  } finally {
    bell.remove();
    engine.forget(group);
  }
}

/** Those after the cursor. `null`: some are not there, or the cursor is ahead of all that is known. */
export function missingEvents(group: GroupState, cursor: number): readonly LeadershipEvent[] | null {
  const { eventNumber, events } = group.current();
  if (cursor === eventNumber) return [];
  if (cursor > eventNumber) return null;
  if (cursor >= eventNumber - events.length) return eventsAfter(events, cursor);
  return eventsAfter(
    [...group.history(), ...events.filter(({ number }) => number > group.historyNumber)],
    cursor,
  );
}
