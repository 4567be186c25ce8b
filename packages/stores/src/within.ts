import { onAbort } from "@tenure/core/internal";

/**
 * Runs `work` with a signal that is aborted after `limitMs`, with the reason of `tooLong`, or together with `signal`. Not
 * `AbortSignal.any` and `AbortSignal.timeout`: a signal that only another signal refers to may be collected, and then never
 * aborts; and a signal that outlives many calls would keep all of them.
 */
export async function within<T>(
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  tooLong: () => Error = () => new Error(`no answer in ${limitMs} ms`),
): Promise<T> {
  const controller = new AbortController();
  const follow = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) follow();
  const stopListening = onAbort(signal, follow);
  const timer = setTimeout(() => controller.abort(tooLong()), limitMs);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
