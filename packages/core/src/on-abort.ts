import { setMaxListeners } from "node:events";

/** Calls `listener` when the signal is aborted, unless removed first. One signal may well serve a thousand calls. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  setMaxListeners(0, signal);
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}
