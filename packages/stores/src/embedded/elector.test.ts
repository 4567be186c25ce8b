import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Store, StoreElector } from "@tenure/core";
import { electorConformance } from "@tenure/core/conformance";
import { afterAll, beforeAll, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";

let root = "";
let store: Store;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-embedded-elector-"));
  store = await EmbeddedStore.open({ directory: join(root, "store") });
});
afterAll(async () => {
  await store.close();
  await rm(root, { recursive: true, force: true });
});

// Only one process may have the directory open, so electors side by side share the store object.
electorConformance({
  test,
  features: { admin: true },
  open: async () => {
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
      },
    };
  },
});
