/** Numbers for people. */

export function duration(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < 1) return "0 ms";
  if (abs < 1000) return `${Math.round(ms)} ms`;
  if (abs < 10_000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, "")} s`;
  if (abs < 60_000) return `${Math.round(ms / 1000)} s`;
  if (abs < 3_600_000) return parts(ms, 60_000, "min", 1000, "s");
  if (abs < 86_400_000) return parts(ms, 3_600_000, "h", 60_000, "min");
  return parts(ms, 86_400_000, "d", 3_600_000, "h");
}

function parts(ms: number, unit: number, name: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / unit);
  const rest = Math.floor((ms - whole * unit) / small);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${smallName}`;
}

/** One unit only: for what changes all the time. */
export function briefly(ms: number): string {
  if (ms >= 1000 && ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const text = duration(Math.max(0, ms));
  return ms < 60_000 ? text : text.split(" ").slice(0, 2).join(" ");
}

const CLOCK: Intl.DateTimeFormatOptions = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};
const DAY: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
const formats = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();

/** Made when first needed: each takes the browser milliseconds, and the first page shows no time of day. */
function formatted(options: Intl.DateTimeFormatOptions, ms: number): string {
  let format = formats.get(options);
  if (format === undefined) formats.set(options, (format = new Intl.DateTimeFormat(undefined, options)));
  return format.format(ms);
}

export function clockTime(ms: number): string {
  return formatted(CLOCK, ms);
}

/** With the day, where it is not today's. */
export function dayTime(ms: number, nowMs: number): string {
  const day = formatted(DAY, ms);
  return day === formatted(DAY, nowMs) ? clockTime(ms) : `${day}, ${clockTime(ms)}`;
}

/** 12,345. By hand: the browser's own way loads tables that cost the first frame dearly. */
export function grouped(n: number): string {
  return String(n).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

/** As a duration field takes it back, exactly, and as the command line writes it: "250ms", "90s", "5m". */
export function written(ms: number): string {
  if (ms === 0) return "0s";
  const [unit, name] =
    (
      [
        [3_600_000, "h"],
        [60_000, "m"],
        [1000, "s"],
      ] as const
    ).find(([each]) => ms % each === 0) ?? ([1, "ms"] as const);
  return `${ms / unit}${name}`;
}

/** "250ms", "5s", "2m", "1h" or a plain number of milliseconds; `null` for anything else. */
export function parseDuration(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?\s*$/.exec(text);
  if (found === null) return null;
  const units: Readonly<Record<string, number>> = {
    ms: 1,
    s: 1000,
    m: 60_000,
    min: 60_000,
    h: 3_600_000,
    d: 86_400_000,
  };
  return Math.round(Number(found[1]) * (units[found[2] ?? "ms"] ?? 1));
}
