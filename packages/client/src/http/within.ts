import type { Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";

/** The work's outcome, unless the time is over or the signal is aborted first; the work itself goes on. */
export function within<T>(
  clock: Clock,
  { timeoutMs, signal, late }: { timeoutMs: number; signal: AbortSignal | undefined; late: () => Error },
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const cancel = clock.after(timeoutMs, () => end(() => reject(late())));
    const stopListening =
      signal === undefined ? () => {} : onAbort(signal, () => end(() => reject(signal.reason as Error)));
    const end = (tell: () => void) => {
      cancel();
      stopListening();
      tell();
    };
    work.then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    );
  });
}
