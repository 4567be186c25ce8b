import { onAbort } from "@tenure/core";

/** Calls `listener` once the signal is aborted, at once if it is; returns how to stop that. */
export function whenAborted(signal: AbortSignal, listener: () => void): () => void {
  if (!signal.aborted) return onAbort(signal, listener);
  listener();
  return () => undefined;
}

/** What `work` comes to, or what `aborted` makes of the signal's reason, whichever is first. */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  aborted: (reason: unknown) => T,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stopListening = whenAborted(signal, () => {
      try {
        resolve(aborted(signal.reason));
      } catch (error) {
        reject(error);
      }
    });
    void work.then(resolve, reject).finally(stopListening);
  });
}

/** For `abortable`: rejects with the signal's reason. */
export function giveUp(reason: unknown): never {
  throw reason;
}

/**
 * Gives `work` so long, and no longer than `signal` lasts. (`AbortSignal.any` and `AbortSignal.timeout` do not serve: one
 * that only the other refers to may be collected, and then never comes.)
 */
export async function within<T>(
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`no answer in ${limitMs} ms`)), limitMs);
  const stopListening = whenAborted(signal, () => controller.abort(signal.reason));
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
