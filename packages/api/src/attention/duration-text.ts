/** A duration for people, with two units at most, as the command accepts it: `350ms`, `4.5s`, `2m5s`, `3d4h`. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`;
  if (ms === 0) return "0s";
  if (ms < 1000) return ms < 10 ? `${trimmed(ms)}ms` : `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${trimmed(ms / 1000)}s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m${rest(ms % 60_000, 1000, "s")}`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)}h${rest(ms % 3_600_000, 60_000, "m")}`;
  return `${Math.floor(ms / 86_400_000)}d${rest(ms % 86_400_000, 3_600_000, "h")}`;
}

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

function rest(ms: number, unitMs: number, unit: string): string {
  const count = Math.floor(ms / unitMs);
  return count === 0 ? "" : `${count}${unit}`;
}
