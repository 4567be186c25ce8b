import { randomUUID } from "node:crypto";
import { StoreElector } from "@tenure/core";
import { electorConformance } from "@tenure/core/conformance";
import { isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, beforeAll, describe, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { parseNatsUrl } from "./options.js";

describe.skipIf(isMissing("nats"))("the contract of an elector on a NATS bucket", () => {
  let engine: NatsEngine;
  beforeAll(async () => {
    engine = await startNats();
  });
  afterAll(() => engine?.stop());

  electorConformance({
    test,
    features: { admin: true },
    open: async () => {
      const opened: (readonly [StoreElector, NatsStore])[] = [];
      const url = engine.urlOf(randomUUID());
      // A store for each elector, as each server has its own connection.
      const another = async () => {
        const store = await NatsStore.open(parseNatsUrl(url));
        const elector = StoreElector.open({ store });
        opened.push([elector, store]);
        return elector;
      };
      return {
        elector: await another(),
        another,
        dispose: async () => {
          for (const [elector, store] of opened) {
            await elector.close();
            await store.close();
          }
        },
      };
    },
  });
});
