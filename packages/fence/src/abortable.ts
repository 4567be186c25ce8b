/** Ends the wait, not the deed: rejects with the signal's reason at once, and whatever comes later is let go. */
export function abortable<T>(deed: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return deed;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    deed.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
