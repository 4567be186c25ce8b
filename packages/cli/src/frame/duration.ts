/** Durations in one form, printed and accepted: `500ms`, `5s`, `1m30s`, `2h`, `1d`. */
import { InvalidArgumentError } from "commander";

export { durationText as tellDuration } from "@tenure/api/duration";

/** From the largest to the smallest, as they follow each other in a duration. */
const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
];
const SHAPE = new RegExp(`^(?=.)${UNITS.map(([unit]) => `(?:(\\d+(?:\\.\\d+)?)${unit})?`).join("")}$`);

/** As whole milliseconds. A number without a unit is refused. */
export function parseDuration(text: string): number {
  const [, ...numbers] = SHAPE.exec(text) ?? [undefined, "NaN"];
  const ms = UNITS.reduce((sum, [, unitMs], index) => sum + Number(numbers[index] ?? 0) * unitMs, 0);
  if (!Number.isSafeInteger(Math.round(ms))) {
    throw new InvalidArgumentError("Use a number with a unit, such as 500ms, 5s, 1m30s or 2h.");
  }
  return Math.round(ms);
}

/** In UTC, like the logs of servers. */
export function tellTime(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`;
}

/** A point in time: a duration before now, such as `15m`, or a time such as `2026-01-31T12:00:00Z`. */
export function parseSince(text: string): (nowMs: number) => number {
  if (/^\d{4}-\d\d-\d\d/.test(text)) {
    const atMs = Date.parse(text.replace(" ", "T"));
    if (!Number.isNaN(atMs)) return () => atMs;
  }
  try {
    const agoMs = parseDuration(text);
    return (nowMs) => nowMs - agoMs;
  } catch {
    throw new InvalidArgumentError("Use a duration such as 15m, or a time such as 2026-01-31T12:00:00Z.");
  }
}
