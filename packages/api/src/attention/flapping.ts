/** Whether a group loses its leader too often without an act of an operator, and how many times per hour. */
import type { EndReason, WatchEvent } from "@tenure/core";

/** The end of a term that no operator asked for. */
export interface Loss {
  readonly reason: EndReason | "none";
  readonly tsMs: number;
}

export interface Flapping {
  /** The reason of most of the losses. */
  readonly reason: EndReason | "none";
  readonly count: number;
  /** Time between the first and the last of these losses. */
  readonly spanMs: number;
  /** Losses per hour over `spanMs`. The kept events may cover less than an hour. */
  readonly perHour: number;
  readonly sinceMs: number;
}

const HOUR_MS = 3_600_000;
/** A group flaps if it has more losses than this within an hour; losses by resignation have a limit of their own. */
const MAX_LOSSES_PER_HOUR = 6;
/** The limit for losses by resignation. It is higher, because a rolling restart resigns as well. */
const MAX_RESIGNATIONS_PER_HOUR = 24;
/** The number of losses that a monitor has to keep for each group. */
export const LOSSES_KEPT = MAX_RESIGNATIONS_PER_HOUR + 1;
/** A group is calm again after this many times the average time between its losses, at least `CALM_MS`. */
const CALM_INTERVALS = 3;
const CALM_MS = 60_000;

/** `null`: not the end of a term, or one that an operator asked for. */
export function lossOf({
  type,
  reason,
  tsMs,
  by,
}: Pick<WatchEvent, "type" | "reason" | "tsMs" | "by">): Loss | null {
  return type === "LEADER_LOST" && by === undefined ? { reason, tsMs } : null;
}

/** `losses`: oldest first. */
export function flappingOf(losses: readonly Loss[], nowMs: number): Flapping | null {
  const recent = losses.filter(({ tsMs }) => nowMs - tsMs < HOUR_MS);
  const forced = recent.filter(({ reason }) => reason !== "resigned");
  return (
    rateOf(forced, MAX_LOSSES_PER_HOUR, nowMs) ?? rateOf(recent, MAX_RESIGNATIONS_PER_HOUR, nowMs) ?? null
  );
}

function rateOf(losses: readonly Loss[], most: number, nowMs: number): Flapping | null {
  const [first, last] = [losses[0], losses.at(-1)];
  if (losses.length <= most || first === undefined || last === undefined) return null;
  const spanMs = Math.max(1, last.tsMs - first.tsMs);
  const intervalMs = spanMs / (losses.length - 1);
  if (nowMs - last.tsMs > Math.max(CALM_MS, CALM_INTERVALS * intervalMs)) return null;
  return {
    reason: mostFrequent(losses),
    count: losses.length,
    spanMs,
    perHour: HOUR_MS / intervalMs,
    sinceMs: first.tsMs,
  };
}

function mostFrequent(losses: readonly Loss[]): Loss["reason"] {
  const counts = new Map<Loss["reason"], number>();
  for (const { reason } of losses) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), ["none", 0] as const)[0];
}
