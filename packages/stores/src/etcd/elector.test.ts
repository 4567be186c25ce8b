import { randomUUID } from "node:crypto";
import { type Store, StoreElector } from "@tenure/core";
import { electorConformance } from "@tenure/core/conformance";
import { type EtcdEngine, isMissing, startEtcd } from "@tenure/engines";
import { afterAll, beforeAll, describe, test } from "vitest";
import { EtcdStore } from "./etcd-store.js";

describe.skipIf(isMissing("etcd"))("the contract of an elector on etcd", () => {
  const prefix = randomUUID();
  let engine: EtcdEngine;
  beforeAll(async () => {
    engine = await startEtcd();
  });
  afterAll(() => engine.stop());

  // A store for each elector, as servers side by side have.
  electorConformance({
    test,
    features: { admin: true },
    open: async () => {
      const opened: (StoreElector | Store)[] = [];
      const another = async (): Promise<StoreElector> => {
        const store = await EtcdStore.open({ servers: engine.endpoints, prefix });
        const elector = StoreElector.open({ store });
        opened.unshift(elector, store);
        return elector;
      };
      return {
        elector: await another(),
        another,
        dispose: async () => {
          for (const each of opened) await each.close();
        },
      };
    },
  });
});
