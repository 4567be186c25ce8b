import type { Clock } from "@tenure/core";

/** Work with a time limit: the signal aborts when it is over. */
export function within<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort(new Error(`no answer within ${limitMs} ms`)));
  return work(limit.signal).finally(cancel);
}
