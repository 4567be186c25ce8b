import { BackendUnavailableError, type Revision } from "@tenure/core";
import { boundMs, FaultProxy, isMissing, startZookeeper, type ZookeeperEngine } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Contest, eventually, Follower, snapshotOf, swapped } from "./faults.test-kit.js";
import { ZookeeperStore } from "./zookeeper-store.js";

/** A server that is silent for two thirds of this time is abandoned. */
const SESSION_MS = 3000;
/** How long a call may take when no server answers; usually far less, but the machine may be busy. */
const BOUND_MS = 15_000;

describe.skipIf(isMissing("zookeeper"))("a ZooKeeper server that fails", () => {
  let engine: ZookeeperEngine;
  let spaces = 0;
  beforeAll(async () => {
    engine = await startZookeeper();
  });
  afterAll(() => engine.stop());
  // A test that fails while the server hangs must not affect the others.
  afterEach(() => server().resume());

  const server = () => engine.nodes[0]!;
  const open = (path: string, port = engine.ports[0]!) =>
    ZookeeperStore.open({ servers: [{ host: "127.0.0.1", port }], path, sessionTimeoutMs: SESSION_MS });
  const space = () => `/faults-${++spaces}`;

  /** A store behind a proxy, and one that always gets through. */
  const behindProxy = async () => {
    const proxy = await FaultProxy.open({ host: "127.0.0.1", port: engine.ports[0]! });
    const path = space();
    const store = await open(path, proxy.port);
    const other = await open(path);
    const close = async () => {
      await store.close();
      await other.close();
      await proxy.close();
    };
    return { proxy, store, other, close };
  };

  test("a ZooKeeper server killed under load and restarted loses no acknowledged write, and feeds continue without a gap", async () => {
    const path = space();
    const stores = [await open(path), await open(path)];
    const followers = stores.map((store) => new Follower(store));
    const contest = new Contest(stores, ["r/a", "r/b", "r/c"], 2, followers);
    await contest.more(100, BOUND_MS);
    await server().kill();
    await server().start();
    await contest.more(100, 3 * BOUND_MS);
    await contest.end();
    const last = await stores[0]!.sync();
    const final = await snapshotOf(stores[1]!);
    contest.check(final);
    expect(contest.uncertain + contest.rejected).toBeGreaterThan(0);
    for (const follower of followers) {
      await follower.reach(last);
      expect(follower.seen).toEqual(final);
      expect(follower.breaks).not.toEqual([]);
      await follower.stop();
    }
    for (const store of stores) await store.close();
  });

  test("while a ZooKeeper server is stopped calls end in bounded time, an idle feed notices, and afterwards everything works", async () => {
    const path = space();
    const [store, idle] = [await open(path), await open(path)];
    const first = await swapped(store, "r/a", null, "1");
    const follower = new Follower(idle);
    await follower.reach(first);
    await server().pause();
    const startMs = performance.now();
    const [written, synced] = await Promise.allSettled([
      store.compareAndSet([{ key: "r/a", expected: first, value: "2" }]),
      store.sync(),
    ]);
    expect(written).toMatchObject({ status: "fulfilled", value: [{ kind: "uncertain" }] });
    expect(synced).toMatchObject({ status: "rejected", reason: { code: "BACKEND_UNAVAILABLE" } });
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    await expect(store.compareAndSet([{ key: "r/b", expected: null, value: "1" }])).rejects.toThrow(
      BackendUnavailableError,
    );
    expect(performance.now() - startMs).toBeLessThan(boundMs(BOUND_MS));
    await eventually("a broken feed", BOUND_MS, () => Promise.resolve(follower.breaks.length > 0));
    server().resume();
    const last = await eventually("a sync", BOUND_MS, () => store.sync());
    await follower.reach(last);
    expect(follower.seen).toEqual(await snapshotOf(store));
    expect(["1", "2"]).toContain(follower.seen.get("r/a")?.value);
    expect(follower.seen.has("r/b")).toBe(false);
    await follower.stop();
    await store.close();
    await idle.close();
  });

  test("a stopped ZooKeeper server does not delay close or open for long", async () => {
    const store = await open(space());
    await server().pause();
    const startMs = performance.now();
    const pending = store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    await store.close();
    expect(await pending).toMatchObject([{ kind: "uncertain" }]);
    await expect(open(space())).rejects.toThrow(/no ZooKeeper server can be used .*; check that one runs/);
    expect(performance.now() - startMs).toBeLessThan(boundMs(2 * BOUND_MS));
    server().resume();
  });

  test("a write whose answer is lost is uncertain, and a read finds it", async () => {
    const { proxy, store, other, close } = await behindProxy();
    const first = await swapped(store, "r/a", null, "1");
    const follower = new Follower(store);
    await follower.reach(first);
    proxy.loseAnswers();
    const outcome = store.compareAndSet([
      { key: "r/a", expected: first, value: "2" },
      { key: "r/b", expected: null, value: "1" },
    ]);
    const found = await eventually("the write", BOUND_MS, async () => {
      const entries = await snapshotOf(other);
      return entries.get("r/a")?.value === "2" && entries;
    });
    proxy.cut();
    expect(await outcome).toMatchObject([{ kind: "uncertain" }, { kind: "uncertain" }]);
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    proxy.mend();
    await follower.reach(await eventually("a sync", BOUND_MS, () => store.sync()));
    expect(follower.seen).toEqual(found);
    await follower.stop();
    await close();
  });

  test("a write whose answer never comes becomes uncertain by itself", async () => {
    const { proxy, store, close } = await behindProxy();
    proxy.loseAnswers();
    const startMs = performance.now();
    const outcome = await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    expect(outcome).toMatchObject([{ kind: "uncertain", cause: { code: "BACKEND_UNAVAILABLE" } }]);
    expect(performance.now() - startMs).toBeLessThan(boundMs(BOUND_MS));
    proxy.mend();
    const current = await eventually("a look", BOUND_MS, () =>
      store.compareAndSet([{ key: "r/a", expected: null, value: "2" }]),
    );
    expect(current).toMatchObject([{ kind: "conflict", current: { value: "1" } }]);
    await close();
  });

  test("a write that was not sent is refused, and never happens", async () => {
    const { proxy, store, other, close } = await behindProxy();
    proxy.cut();
    await eventually("a refusal", BOUND_MS, () =>
      store.sync().then(
        () => false,
        () => true,
      ),
    );
    const write = store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    await expect(write).rejects.toThrow(BackendUnavailableError);
    proxy.mend();
    await eventually("a sync", BOUND_MS, () => store.sync());
    expect((await snapshotOf(other)).size).toBe(0);
    await close();
  });

  test("an abort while there is no connection rejects with its reason", async () => {
    const { proxy, store, close } = await behindProxy();
    proxy.loseAnswers();
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    // Now every attempt to connect hangs.
    const calls = [
      (signal: AbortSignal): Promise<Revision> => store.sync({ signal }),
      (signal: AbortSignal) => store.compareAndSet([{ key: "r/a", expected: null, value: "1" }], { signal }),
      (signal: AbortSignal) => store.feed({ signal })[Symbol.asyncIterator]().next(),
    ];
    for (const call of calls) {
      const controller = new AbortController();
      const reason = new Error("enough");
      const called = call(controller.signal);
      controller.abort(reason);
      await expect(called).rejects.toBe(reason);
    }
    const waiting = store.sync();
    await Promise.all([expect(waiting).rejects.toThrow("closed"), store.close()]);
    await close();
  });
});
