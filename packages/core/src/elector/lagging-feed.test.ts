/** The whole suite once more over a store whose feed lags: what holds must not hold by luck of a quick feed. */
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
  // Each law has a store of its own.
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
