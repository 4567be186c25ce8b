import { StoreElector } from "@tenure/core";
import { electorConformance } from "@tenure/core/conformance";
import { isMissing, startZookeeper, type ZookeeperEngine } from "@tenure/engines";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openStore } from "../open-store.js";

describe.skipIf(isMissing("zookeeper"))("the contract of an elector over ZooKeeper", () => {
  let engine: ZookeeperEngine;
  beforeAll(async () => {
    engine = await startZookeeper();
  });
  afterAll(() => engine.stop());

  electorConformance({
    test,
    features: { admin: true },
    // Both before the law begins: to connect takes its time, and leases are short. Each is on a store of its own, as
    // servers on different machines are.
    open: async () => {
      const stores = [
        await openStore(`${engine.url}/electors`),
        await openStore(`${engine.url}/electors`),
      ] as const;
      const [elector, other] = [
        StoreElector.open({ store: stores[0] }),
        StoreElector.open({ store: stores[1] }),
      ];
      return {
        elector,
        another: () => Promise.resolve(other),
        dispose: async () => {
          for (const each of [elector, other, ...stores]) await each.close();
        },
      };
    },
  });
});
