import { flappingOf, lossOf } from "@tenure/api";
import type { LeadershipEvent } from "@tenure/core";

/** How many events of a group are kept. */
export const KEPT_EVENTS = 64;
const HOUR_MS = 3_600_000;

/**
 * Changes of the leader per hour. If the history is full, it may begin less than an hour ago: then the events are divided by the time that they span,
 * because older ones have been dropped.
 */
export function changesPerHour(events: readonly LeadershipEvent[], nowMs: number): number {
  const recent = events.filter(
    ({ type, tsMs }) => type === "LEADER_CHANGED" && nowMs - tsMs < HOUR_MS,
  ).length;
  const [oldest] = events;
  if (oldest === undefined || events.length < KEPT_EVENTS || nowMs - oldest.tsMs >= HOUR_MS) return recent;
  const spanMs = Math.max(1000, nowMs - oldest.tsMs);
  return Math.round((recent * HOUR_MS) / spanMs);
}

/** As the attention list of a server judges it. */
export function isFlapping(events: readonly LeadershipEvent[], nowMs: number): boolean {
  const losses = events.map((event) => lossOf(event)).filter((loss) => loss !== null);
  return flappingOf(losses, nowMs) !== null;
}
