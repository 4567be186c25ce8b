import type { Clock } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";
import { onAbort } from "../on-abort.js";

/** Gives `work` so long, then aborts its signal and rejects, whether it heeds the signal or not. */
export function within<T>(
  clock: Clock,
  limitMs: number,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const cancel = clock.after(limitMs, () => {
      const error = new BackendUnavailableError(`${what} took more than ${limitMs} ms`);
      reject(error);
      controller.abort(error);
    });
    work(controller.signal).then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error instanceof Error ? error : new Error(`${what} failed`, { cause: error }));
      },
    );
  });
}

/** Rejects as soon as the signal does. What `work` comes to afterwards is nobody's business any more. */
export function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    const stopListening = onAbort(signal, abort);
    void work.then(resolve, reject).finally(stopListening);
  });
}
