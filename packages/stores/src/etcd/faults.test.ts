/** One member that is killed, stopped, or behind a proxy that loses messages. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { BackendUnavailableError, type Entry, type Revision, type Store } from "@tenure/core";
import {
  boundMs,
  type EngineProcess,
  type EtcdEngine,
  FaultProxy,
  freePorts,
  isMissing,
  startEtcd,
} from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BOUND_MS, entriesOf, Follower, swap, swapInTheEnd, timeOf, until } from "./etcd.test-kit.js";
import { EtcdStore } from "./etcd-store.js";
import { History, RegisterWriter } from "./register.test-kit.js";

describe.skipIf(isMissing("etcd"))("faults of one etcd member", () => {
  let engine: EtcdEngine;
  let node: EngineProcess;
  let proxy: FaultProxy;
  let store: Store;
  let follower: Follower;
  beforeAll(async () => {
    engine = await startEtcd();
    [node] = engine.nodes as [EngineProcess];
  });
  afterAll(() => engine.stop());
  beforeEach(async () => {
    const [host = "", port] = (engine.endpoints[0] ?? "").split(":");
    proxy = await FaultProxy.open({ host, port: Number(port) });
    store = await EtcdStore.open({ servers: [`127.0.0.1:${proxy.port}`], prefix: randomUUID() });
    follower = new Follower(store);
  });
  afterEach(async () => {
    await follower.stop();
    await store.close();
    await proxy.close();
  });

  const servesAgain = (): Promise<void> =>
    until("it serves again", () =>
      store.sync().then(
        () => true,
        () => false,
      ),
    );

  async function checkThatAllIsWell(expected: ReadonlyMap<string, Revision>): Promise<void> {
    await follower.reach(await store.sync());
    const entries = await entriesOf(store);
    expect(follower.seen).toEqual(entries);
    expect(new Map([...entries].map(([key, entry]) => [key, entry.revision]))).toEqual(expected);
  }

  test("an etcd member killed and restarted has every acknowledged write, revisions continue, and the feed has no gap", async () => {
    const written = new Map<string, Revision>();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 5; i++) {
        const key = `r/${round}-${i}`;
        const revision = await swapInTheEnd(store, { key, expected: null, value: "1" });
        expect(revision).toBeGreaterThan(Math.max(0, ...written.values()));
        written.set(key, revision);
      }
      await node.kill();
      const [outcome, took] = await Promise.all([
        swap(store, { key: "r/none", expected: 1, value: "never" }),
        timeOf(store.sync()),
      ]);
      expect(["refused", "uncertain"]).toContain(outcome.kind);
      expect(took).toBeLessThan(boundMs(BOUND_MS));
      await node.start();
      await servesAgain();
    }
    await checkThatAllIsWell(written);
    expect(follower.endings.length).toBeGreaterThanOrEqual(3);
  });

  test("while an etcd member is stopped, calls and feeds end in time, and afterwards everything works", async () => {
    const first = await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
    await follower.reach(first);
    await node.pause();
    const startedAtMs = performance.now();
    const [outcome] = await Promise.all([
      swap(store, { key: "r/a", expected: first, value: "2" }),
      until("the feed has ended", () => follower.endings.length > 0),
      expect(store.sync({ signal: AbortSignal.timeout(1000) })).rejects.toThrow(/timeout/),
    ]);
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
    expect(outcome.kind).toBe("uncertain");
    node.resume();
    // The write may still have arrived, and be executed only now.
    const last = await swapInTheEnd(store, { key: "r/b", expected: null, value: "1" });
    const look = await swap(store, { key: "r/a", expected: first, value: "3" });
    if (look.kind === "conflict") expect(look.current?.value).toBe("2");
    else expect(look.kind).toBe("swapped");
    const { revision } = (look.kind === "conflict" ? look.current : look) as { revision: Revision };
    await checkThatAllIsWell(
      new Map([
        ["r/a", revision],
        ["r/b", last],
      ]),
    );
  });

  test("a write whose answer is lost is uncertain, and a read finds it", async () => {
    const first = await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
    await follower.reach(first);
    proxy.loseAnswers();
    expect((await swap(store, { key: "r/a", expected: first, value: "2" })).kind).toBe("uncertain");
    proxy.cut();
    expect((await swap(store, { key: "r/a", expected: first, value: "never" })).kind).toBe("refused");
    proxy.mend();
    await servesAgain();
    await follower.reach(await store.sync());
    const found = follower.seen.get("r/a") as Entry;
    expect(found.value).toBe("2");
    await checkThatAllIsWell(new Map([["r/a", found.revision]]));
  });

  test("a write whose answer is no longer awaited is uncertain", async () => {
    proxy.loseAnswers();
    const signal = AbortSignal.timeout(100);
    const [outcome] = await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }], { signal });
    expect(outcome).toEqual({ kind: "uncertain", cause: signal.reason as unknown });
    await expect(store.sync({ signal: AbortSignal.timeout(100) })).rejects.toThrow(/timeout/);
    proxy.cut();
    proxy.mend();
    await until("the write is seen", () => follower.seen.get("r/a")?.value === "1");
  });

  test("writes cut off in the middle are never mistaken for another's", async () => {
    const history = new History();
    const watching = new Follower(store, history.see);
    const writers = ["r/a", "r/b", "r/c", "r/d"].map((key) => new RegisterWriter(store, history, key, key));
    for (let round = 1; round <= 10; round++) {
      const target = round * 5;
      await until("some writes were acknowledged", () =>
        writers.some(({ acknowledged }) => acknowledged >= target),
      );
      if (round % 2 === 0) proxy.loseAnswers();
      proxy.cut();
      proxy.mend();
    }
    for (const writer of writers) await writer.stop();
    await follower.reach(await store.sync());
    const entries = await entriesOf(store);
    history.checkAgainst(entries);
    expect(follower.seen).toEqual(entries);
    await watching.stop();
  });
});

describe("etcd that is not there", () => {
  test("a refused connection is reported at once, with the next step", async () => {
    const [port] = await freePorts(1);
    const opening = EtcdStore.open({ servers: [`127.0.0.1:${port}`] });
    await expect(opening).rejects.toThrow(BackendUnavailableError);
    await expect(opening).rejects.toThrow(
      /no member of etcd answers.*127.0.0.1:\d+: connect ECONNREFUSED.*check that they run/,
    );
  });

  test("a silent server is abandoned after some seconds, and no connection is left", async () => {
    const server = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const startedAtMs = performance.now();
    await expect(EtcdStore.open({ servers: [`127.0.0.1:${port}`] })).rejects.toThrow(BackendUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
    await once(server.close(), "close");
  });
});
