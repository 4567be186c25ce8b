/** The whole suite over a store whose feed lags, so that no law passes only because feeds are quick. */
import { test } from "vitest";
import { sleep } from "../clock.js";
import { electorConformance } from "../conformance/elector.js";
import { MemoryStore } from "../store/memory-store.js";
import type { CallOptions, FeedItem } from "../store/store.js";
import { systemClock } from "../system-clock.js";
import { StoreElector } from "./store-elector.js";

const LAG_MS = 5;

class LaggingStore extends MemoryStore {
  override async *feed(options?: CallOptions): AsyncGenerator<FeedItem> {
    for await (const item of super.feed(options)) {
      await sleep(systemClock, LAG_MS, options?.signal);
      yield item;
    }
  }
}

electorConformance({
  // Each law has its own store.
  test: (name, run) => test.concurrent(name, run),
  features: { admin: true },
  open: async () => {
    const store = new LaggingStore();
    const opened: StoreElector[] = [];
    const another = () => {
      const elector = StoreElector.open({ store });
      opened.push(elector);
      return elector;
    };
    return {
      elector: another(),
      another: () => Promise.resolve(another()),
      dispose: async () => {
        for (const elector of opened) await elector.close();
        await store.close();
      },
    };
  },
});
