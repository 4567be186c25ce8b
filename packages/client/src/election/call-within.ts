import { BackendUnavailableError, type Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";

/** A call that is given up after so long, as if nobody had answered; or when the signal says so, with its reason. */
export async function callWithin<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const cancel = clock.after(timeoutMs, () =>
    limit.abort(new BackendUnavailableError(`no answer came within ${timeoutMs} ms`)),
  );
  const stopListening = onAbort(signal, () => limit.abort(signal.reason));
  try {
    return await call(limit.signal);
  } finally {
    cancel();
    stopListening();
  }
}
