import type { Clock } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";

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
