/**
 * The listeners of each signal, behind one listener of the platform. An EventTarget looks through its whole list for each
 * listener that comes or goes, so thousands of watches on one signal cost their square.
 */
const listenersOf = new WeakMap<AbortSignal, Set<Listener>>();

/** An object of its own for each call: the same function may listen twice. */
interface Listener {
  readonly call: () => void;
}

/**
 * Calls `listener` when the signal is aborted, unless removed first. Coming and going takes constant time for any number
 * of listeners of one signal. A signal that was aborted before calls nobody: ask it.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined || signal.aborted) return () => {};
  const entry: Listener = { call: listener };
  let listeners = listenersOf.get(signal);
  if (listeners === undefined) {
    listeners = new Set();
    listenersOf.set(signal, listeners);
    signal.addEventListener("abort", callAll, { once: true });
  }
  listeners.add(entry);
  const present = listeners;
  return () => {
    if (!present.delete(entry) || present.size > 0 || listenersOf.get(signal) !== present) return;
    // The platform keeps some signals alive for as long as somebody listens.
    listenersOf.delete(signal);
    signal.removeEventListener("abort", callAll);
  };
}

function callAll(this: AbortSignal): void {
  const listeners = listenersOf.get(this) ?? new Set();
  listenersOf.delete(this);
  for (const entry of listeners) {
    // One that has been called cannot be removed any more, and one that fails keeps nobody from being called.
    listeners.delete(entry);
    try {
      entry.call();
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
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
