import { setMaxListeners } from "node:events";

/** Calls `listener` when the signal is aborted, unless removed first. One signal may well serve a thousand calls. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  setMaxListeners(0, signal);
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
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
