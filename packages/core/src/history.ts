/**
 * The last events of a group, in a key of their own that is written on changes only. It is merged by event number and by
 * compare-and-set, so that two servers writing it lose nothing and double nothing.
 */
import type { LeadershipEvent } from "./event.js";
import type { OperatorAct } from "./operator-act.js";
import type { ElectionRecord } from "./record.js";

export const EVENTS_IN_HISTORY = 64;

/** The last changes of leadership and the last acts of operators, each oldest first. */
export interface GroupHistory {
  readonly events: readonly LeadershipEvent[];
  readonly acts: readonly OperatorAct[];
}

export const EMPTY_HISTORY: GroupHistory = Object.freeze({
  events: Object.freeze([]),
  acts: Object.freeze([]),
});

/** What the record itself has of the history. */
export function recordedHistory({ events, act }: ElectionRecord): GroupHistory {
  return { events, acts: act === null ? [] : [act] };
}

export function recordedLength({ events, act }: ElectionRecord): number {
  return events.length + (act === null ? 0 : 1);
}

export function mergeEvents(
  one: readonly LeadershipEvent[],
  other: readonly LeadershipEvent[],
): readonly LeadershipEvent[] {
  const byNumber = new Map<number, LeadershipEvent>();
  for (const event of one) byNumber.set(event.number, event);
  for (const event of other) byNumber.set(event.number, event);
  return [...byNumber.values()].sort((a, b) => a.number - b.number).slice(-EVENTS_IN_HISTORY);
}

/**
 * Whether writing `next` would push an event out of the record that a history ending in `lastNumber` lacks. A deletion
 * may: it drops all events but the last on purpose, and a watcher that lacks one of them gets a RESYNC.
 */
export function losesEvents(next: ElectionRecord, lastNumber: number): boolean {
  return !next.deleted && next.eventNumber - next.events.length > lastNumber;
}

/** Whether writing `next` would push an act out of the record that a history ending in act `lastNumber` lacks. A deletion may. */
export function losesAct(next: ElectionRecord, lastNumber: number): boolean {
  return !next.deleted && (next.act?.number ?? 0) - 1 > lastNumber;
}

/** The events after `cursor`, without a gap; `null` if some of them are no longer there. */
export function eventsAfter(
  events: readonly LeadershipEvent[],
  cursor: number,
): readonly LeadershipEvent[] | null {
  const after = events.filter((event) => event.number > cursor);
  return after.every((event, index) => event.number === cursor + 1 + index) ? after : null;
}
