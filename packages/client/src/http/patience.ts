/** How long a stream may be silent, and what it therefore asks of its server. */
import type { WatchOptions } from "@tenure/core";
import { checkInteger, MIN_WATCH_MS } from "@tenure/core/internal";

export interface Patience {
  /** A server that is silent for this long is reported. `Infinity`: never. */
  readonly quietMs: number;
  /** A server that is silent for this long is treated as gone, and the stream continues at another one. */
  readonly silenceMs: number;
}

/** The default; the service then sends something every 15 s. */
const DEFAULT_SILENCE_MS = 40_000;
/** Two keep-alives may be late before the server is left. */
const SIGN_PER_SILENCE = 0.4;
/** A keep-alive may be late by 3/4 of its period before that is reported, as a renewal may by default. */
const SIGN_PER_QUIET = 4 / 7;

export function parsePatience({ silenceMs: silence, quietMs: quiet }: WatchOptions): Patience {
  const silenceMs = Math.min(
    DEFAULT_SILENCE_MS,
    checkInteger(silence ?? DEFAULT_SILENCE_MS, "silenceMs", MIN_WATCH_MS.silence, Number.MAX_SAFE_INTEGER),
  );
  if (quiet === undefined) return { silenceMs, quietMs: Number.POSITIVE_INFINITY };
  return { silenceMs, quietMs: checkInteger(quiet, "quietMs", MIN_WATCH_MS.quiet, Number.MAX_SAFE_INTEGER) };
}

/** Whether a reader that needs `needed` may share a stream that was opened with `given`. */
export function suffices(given: Patience, needed: Patience): boolean {
  return given.silenceMs <= needed.silenceMs && given.quietMs <= needed.quietMs;
}

/** The shortest times of all. */
export function leastOf(all: readonly Patience[]): Patience {
  return {
    quietMs: Math.min(...all.map(({ quietMs }) => quietMs)),
    silenceMs: Math.min(...all.map(({ silenceMs }) => silenceMs)),
  };
}

/** How often the server is asked to send something; `undefined`: at its own default interval. */
export function keepAliveMs({ quietMs, silenceMs }: Patience): number | undefined {
  const signMs = Math.floor(Math.min(quietMs * SIGN_PER_QUIET, silenceMs * SIGN_PER_SILENCE));
  return signMs >= DEFAULT_SILENCE_MS * SIGN_PER_SILENCE ? undefined : signMs;
}
