/** Three members, some of which are killed, hang, or belong to another cluster. */
import { randomUUID } from "node:crypto";
import { BackendUnavailableError, type Store } from "@tenure/core";
import {
  boundMs,
  type EngineProcess,
  type EtcdEngine,
  FaultProxy,
  isMissing,
  startEtcd,
} from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { BOUND_MS, entriesOf, Follower, leaderAmong, swap, swapInTheEnd, until } from "./etcd.test-kit.js";
import { EtcdStore } from "./etcd-store.js";
import { History, RegisterWriter } from "./register.test-kit.js";

describe.skipIf(isMissing("etcd"))("a cluster of three etcd members", () => {
  let engine: EtcdEngine;
  const opened: (Store | FaultProxy)[] = [];
  beforeAll(async () => {
    engine = await startEtcd({ nodes: 3 });
  });
  afterAll(() => engine.stop());
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    for (const node of engine.nodes) if (!node.isRunning) node.launch();
    for (const node of engine.nodes) await node.ready();
  });

  async function open(prefix: string, endpoints = engine.endpoints): Promise<Store> {
    const store = await EtcdStore.open({ servers: endpoints, prefix });
    opened.unshift(store);
    return store;
  }

  async function proxyOf(endpoint: string): Promise<FaultProxy> {
    const [host = "", port] = endpoint.split(":");
    const proxy = await FaultProxy.open({ host, port: Number(port) });
    opened.push(proxy);
    return proxy;
  }

  const endpointOf = ({ port }: FaultProxy): string => `127.0.0.1:${port}`;

  test("the leader of etcd is killed under load: no acknowledged write is lost, and no revision is replaced twice", async () => {
    const prefix = randomUUID();
    const history = new History();
    const stores = [await open(prefix), await open(prefix)];
    const followers = stores.map((store) => new Follower(store, history.see));
    const writers = stores.flatMap((store, i) =>
      ["r/a", "r/b", "r/c"].map((key) => new RegisterWriter(store, history, key, `${i}-${key}`)),
    );
    const count = (): number => writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
    for (let round = 0; round < 2; round++) {
      const leader = engine.nodes[await leaderAmong(engine.endpoints)] as EngineProcess;
      let target = count() + 50;
      await until("there is load", () => count() > target);
      await leader.kill();
      target = count() + 50;
      await until("writes go on without it", () => count() > target);
      await leader.start();
    }
    for (const writer of writers) await writer.stop();
    const entries = await entriesOf(stores[0] as Store);
    history.checkAgainst(entries);
    for (const [i, follower] of followers.entries()) {
      await follower.reach(await (stores[i] as Store).sync());
      expect(follower.seen).toEqual(entries);
      await follower.stop();
    }
  });

  test("two of three etcd members are killed: calls end in time, and work again afterwards", async () => {
    const store = await open(randomUUID());
    const follower = new Follower(store);
    const first = await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
    await follower.reach(first);
    const gone = engine.nodes.slice(1);
    await Promise.all(gone.map((node) => node.kill()));
    for (let i = 0; i < 3; i++) {
      const startedAtMs = performance.now();
      const [outcome, synced] = await Promise.all([
        swap(store, { key: "r/b", expected: null, value: "1" }),
        store.sync().catch((error: unknown) => error),
      ]);
      expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
      expect(["refused", "uncertain"]).toContain(outcome.kind);
      expect(synced).toBeInstanceOf(BackendUnavailableError);
    }
    await until("the feed has ended", () => follower.endings.length > 0);
    for (const node of gone) node.launch();
    const second = await swapInTheEnd(store, { key: "r/b", expected: null, value: "1" });
    expect(second).toBeGreaterThan(first);
    await follower.reach(await store.sync());
    expect(follower.seen).toEqual(await entriesOf(store));
    await follower.stop();
  });

  test("an etcd member that hangs is left for another, by calls and by feeds", async () => {
    const proxies = await Promise.all(engine.endpoints.map(proxyOf));
    // The only member that can be reached when the store is opened is the one it uses.
    const used = await leaderAmong(engine.endpoints);
    for (const [i, proxy] of proxies.entries()) if (i !== used) proxy.cut();
    const store = await open(randomUUID(), proxies.map(endpointOf));
    for (const proxy of proxies) proxy.mend();
    const follower = new Follower(store);
    const first = await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
    await follower.reach(first);
    const node = engine.nodes[used] as EngineProcess;
    await node.pause();
    const startedAtMs = performance.now();
    // Without a call, the feed notices by itself.
    await until("the feed has ended", () => follower.endings.length > 0);
    const second = await swapInTheEnd(store, { key: "r/a", expected: first, value: "2" });
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
    await follower.reach(await store.sync());
    expect(follower.seen.get("r/a")).toEqual({ key: "r/a", value: "2", revision: second });
    node.resume();
    await follower.stop();
  });

  test("a member of another etcd cluster is never used in place of one of ours", async () => {
    const another = await startEtcd();
    try {
      const ours = await proxyOf(engine.endpoints[0] as string);
      const stranger = await proxyOf(another.endpoints[0] as string);
      stranger.cut();
      const store = await open(randomUUID(), [ours, stranger].map(endpointOf));
      await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
      stranger.mend();
      ours.cut();
      await until("it is refused", async () => {
        const error: unknown = await store.sync().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(BackendUnavailableError);
        return String(error).includes("another cluster");
      });
    } finally {
      await another.stop();
    }
  });
});
