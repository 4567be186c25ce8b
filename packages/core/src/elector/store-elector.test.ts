import { test } from "vitest";
import { electorConformance } from "../conformance/elector.js";
import { MemoryStore } from "../store/memory-store.js";
import { StoreElector } from "./store-elector.js";

electorConformance({
  test,
  features: { admin: true },
  open: async () => {
    const store = new MemoryStore();
    const elector = StoreElector.open({ store });
    const others: StoreElector[] = [];
    return {
      elector,
      another: async () => {
        const other = StoreElector.open({ store });
        others.push(other);
        return other;
      },
      dispose: async () => {
        await elector.close();
        for (const other of others) await other.close();
        await store.close();
      },
    };
  },
});
