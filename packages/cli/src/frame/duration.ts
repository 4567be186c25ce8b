import { InvalidArgumentError } from "commander";

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SHAPE = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** `500ms`, `5s`, `1.5m`, `2h`, `1d`, as whole milliseconds. A number without a unit is refused. */
export function parseDuration(text: string): number {
  const [, number, unit = ""] = SHAPE.exec(text) ?? [];
  const ms = Number(number) * (UNITS_MS[unit] ?? Number.NaN);
  if (!Number.isSafeInteger(Math.round(ms))) {
    throw new InvalidArgumentError("Use a number with a unit, such as 500ms, 5s, 2m or 1h.");
  }
  return Math.round(ms);
}

/** For people, with two units at most. */
export function tellDuration(ms: number): string {
  if (ms < 0) return `-${tellDuration(-ms)}`;
  if (ms < 1000) return ms > 0 && ms < 10 ? `${trimmed(ms)} ms` : `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${trimmed(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min${rest(ms % 60_000, 1000, "s")}`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h${rest(ms % 3_600_000, 60_000, "min")}`;
  return `${Math.floor(ms / 86_400_000)} d${rest(ms % 86_400_000, 3_600_000, "h")}`;
}

/** In UTC, like the logs of servers. */
export function tellTime(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`;
}

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

function rest(ms: number, unitMs: number, unit: string): string {
  const count = Math.floor(ms / unitMs);
  return count === 0 ? "" : ` ${count} ${unit}`;
}
