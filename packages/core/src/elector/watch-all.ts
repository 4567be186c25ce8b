import type { WatchEvent } from "../elector.js";
import type { Bell, Signals } from "./bell.js";
import type { Engine } from "./engine.js";
import { iterate } from "./iterate.js";
import { stateEvent, watchEvent } from "./views.js";

/**
 * Events of all groups in the order of the store. Without a cursor the state of each led group comes first; past what
 * is kept, the state of every group, each as a RESYNC.
 */
export function watchAll(
  engine: Engine,
  from: number | undefined,
  signals: Signals,
): AsyncIterable<WatchEvent> {
  return iterate(signals, (bell) => readAll(engine, from, bell));
}

async function* readAll(
  engine: Engine,
  from: number | undefined,
  bell: Bell,
): AsyncGenerator<WatchEvent, undefined> {
  bell.listenTo((wake) => engine.log.listen(wake));
  // One's own writes are known before the feed brings them: what a state has shown is not told again.
  const shown = new Map<string, number>();
  try {
    bell.throwIfOver();
    let cursor = from;
    if (cursor === undefined) {
      await bell.unlessOver(engine.freshness.fresh());
      cursor = engine.log.last;
      yield* states(engine, false, cursor, shown);
    }
    for (;;) {
      bell.throwIfOver();
      let events = engine.log.after(cursor);
      if (events === null) {
        await bell.unlessOver(engine.freshness.fresh());
        events = engine.log.after(cursor);
      }
      if (events === null) {
        cursor = engine.log.last;
        yield* states(engine, true, cursor, shown);
      } else if (events.length === 0) {
        await bell.rung();
      } else {
        for (const { groupId, event, place } of events) {
          cursor = place;
          if (event.number <= (shown.get(groupId) ?? 0)) continue;
          yield { ...watchEvent(groupId, event), cursor };
        }
      }
    }
  } finally {
    bell.remove();
  }
}

/** Taken in one go, so that all are of the place where the events then go on. */
function states(
  engine: Engine,
  resync: boolean,
  cursor: number,
  shown: Map<string, number>,
): readonly WatchEvent[] {
  const wallMs = engine.clock.wallMs();
  const events: WatchEvent[] = [];
  for (const { groupId, revision, record, loggedNumber, isUnreadable } of engine.groups.values()) {
    if (revision === null || isUnreadable || (record.holder === null && !resync)) continue;
    if (record.eventNumber > loggedNumber) shown.set(groupId, record.eventNumber);
    events.push({ ...stateEvent(groupId, record, resync, wallMs), cursor });
  }
  return events;
}
