/** ZooKeeper by the store's own client: a batch of one is one `setData` with the expected version. */
import type { Revision, Store } from "@tenure/core";
import { parseZookeeperUrl, ZookeeperStore } from "@tenure/stores/zookeeper";
import type { OpenWorkers } from "./direct-load.js";

export const openZookeeperSetDatas: OpenWorkers = async ({ url, value, connections, inFlight }) => {
  const stores = await Promise.all(
    Array.from({ length: connections }, (_, index) =>
      ZookeeperStore.open(parseZookeeperUrl(`${url}/direct-${connections}-${index}`)),
    ),
  );
  return Promise.all(
    Array.from({ length: inFlight }, async (_, index) => {
      const store = stores[index % stores.length] as Store;
      let expected: Revision | null = null;
      const worker = async (): Promise<void> => {
        const [outcome] = await store.compareAndSet([{ key: String(index), expected, value }]);
        if (outcome?.kind !== "swapped") throw new Error(`a write was answered ${outcome?.kind}`);
        expected = outcome.revision;
      };
      await worker();
      return worker;
    }),
  );
};
