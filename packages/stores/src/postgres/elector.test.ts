import { type Store, StoreElector } from "@tenure/core";
import { electorConformance } from "@tenure/core/conformance";
import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openStore } from "../open-store.js";

describe.skipIf(isMissing("postgres"))("the contract of an elector over PostgreSQL", () => {
  let engine: PostgresEngine;
  beforeAll(async () => {
    engine = await startPostgres();
  });
  afterAll(() => engine?.stop());

  // Each elector has its own store, as each server has its own connections.
  electorConformance({
    test,
    features: { admin: true },
    open: async () => {
      const opened: { readonly elector: StoreElector; readonly store: Store }[] = [];
      const another = async () => {
        const store = await openStore(engine.url);
        const elector = StoreElector.open({ store });
        opened.push({ elector, store });
        return elector;
      };
      return {
        elector: await another(),
        another,
        dispose: async () => {
          for (const { elector, store } of opened) {
            await elector.close();
            await store.close();
          }
        },
      };
    },
  });
});
