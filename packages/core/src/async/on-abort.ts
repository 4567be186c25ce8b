/**
 * The listeners of each signal, behind one listener of the platform. An EventTarget searches its whole list whenever a
 * listener is added or removed, so thousands of watches on one signal would take quadratic time.
 */
const listenersOf = new WeakMap<AbortSignal, Set<Listener>>();

/** Each call has its own object, because the same function may listen twice. */
interface Listener {
  readonly call: () => void;
}

/**
 * Calls `listener` when the signal aborts, unless the listener is removed first. Adding and removing take constant
 * time, however many listeners a signal has. If the signal has already aborted, the listener is not called: check
 * `signal.aborted`.
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
    // The platform keeps some signals alive while they have a listener.
    listenersOf.delete(signal);
    signal.removeEventListener("abort", callAll);
  };
}

function callAll(this: AbortSignal): void {
  const listeners = listenersOf.get(this) ?? new Set();
  listenersOf.delete(this);
  for (const entry of listeners) {
    // A listener that was called cannot be removed any more, and one that throws must not keep the others from being
    // called.
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

/** Settles as `work` does, but rejects as soon as the signal aborts. A later result of `work` is ignored. */
export function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    const stopListening = onAbort(signal, abort);
    void work.then(resolve, reject).finally(stopListening);
  });
}
