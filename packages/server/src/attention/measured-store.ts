import type { Clock, Store } from "@tenure/core";

/** The same store; `onWrite` is called with the duration of each write, whatever its outcome was. */
export function measuredStore(store: Store, clock: Clock, onWrite: (tookMs: number) => void): Store {
  const { name, features, limits } = store;
  return {
    name,
    features,
    limits,
    async compareAndSet(batch, options) {
      const startedMs = clock.monotonicMs();
      try {
        return await store.compareAndSet(batch, options);
      } finally {
        onWrite(clock.monotonicMs() - startedMs);
      }
    },
    sync: (options) => store.sync(options),
    feed: (options) => store.feed(options),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
