import { BackendUnavailableError } from "@tenure/core";
import { boundMs, isMissing, startZookeeper, type ZookeeperEngine } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Contest, eventually, Follower, snapshotOf, swapped } from "./faults.test-kit.js";
import { ZookeeperStore } from "./zookeeper-store.js";

const SESSION_MS = 3000;
/** Room for an election on a busy machine. */
const BOUND_MS = 20_000;

describe.skipIf(isMissing("zookeeper"))("an ensemble of three that loses servers", () => {
  let engine: ZookeeperEngine;
  let spaces = 0;
  beforeAll(async () => {
    engine = await startZookeeper({ nodes: 3 });
  });
  afterAll(() => engine.stop());

  const space = () => `/ensemble-${++spaces}`;
  const open = (path: string, ports: readonly number[] = engine.ports) =>
    ZookeeperStore.open({
      servers: ports.map((port) => ({ host: "127.0.0.1", port })),
      path,
      sessionTimeoutMs: SESSION_MS,
    });

  test("a write that one ZooKeeper server acknowledged is shown by every other at once", async () => {
    const path = space();
    const stores = await Promise.all(engine.ports.map((port) => open(path, [port])));
    const followers = stores.map((store) => new Follower(store));
    let present = await swapped(stores[0]!, "r/a", null, "0");
    for (let round = 1; round <= 60; round++) {
      const [writer, reader, looker] = [0, 1, 2].map((i) => stores[(round * (1 + (round % 2)) + i) % 3]!);
      present = await swapped(writer!, "r/a", present, `${round}`);
      const [synced, [outcome]] = await Promise.all([
        reader!.sync(),
        looker!.compareAndSet([{ key: "r/a", expected: null, value: "never" }]),
      ]);
      expect(synced).toBeGreaterThan(present);
      const current = { key: "r/a", value: `${round}`, revision: present };
      expect(outcome).toEqual({ kind: "conflict", current });
      if (round % 20 === 0) expect((await snapshotOf(looker!)).get("r/a")).toEqual(current);
    }
    for (const [i, follower] of followers.entries()) {
      await follower.reach(await stores[i]!.sync());
      expect(follower.seen.get("r/a")?.revision).toBe(present);
      await follower.stop();
      await stores[i]!.close();
    }
  });

  test("the ZooKeeper leader is killed under load: each revision is replaced once, and no acknowledged write is lost", async () => {
    const path = space();
    const stores = [await open(path), await open(path)];
    const followers = stores.map((store) => new Follower(store));
    const contest = new Contest(stores, ["r/a", "r/b", "r/c", "r/d"], 3, followers);
    await contest.more(100, BOUND_MS);
    const leader = engine.nodes[await engine.leader()]!;
    await leader.kill();
    await contest.more(100, BOUND_MS);
    await leader.start();
    await contest.more(50, BOUND_MS);
    await contest.end();
    const last = await eventually("a sync", BOUND_MS, () => stores[0]!.sync());
    const final = await snapshotOf(stores[1]!);
    contest.check(final);
    expect(contest.uncertain + contest.rejected).toBeGreaterThan(0);
    for (const follower of followers) {
      await follower.reach(last);
      expect(follower.seen).toEqual(final);
      await follower.stop();
    }
    for (const store of stores) await store.close();
  });

  test("two of three ZooKeeper servers are killed: calls fail in bounded time, and work again afterwards", async () => {
    const store = await open(space());
    const first = await swapped(store, "r/a", null, "1");
    const follower = new Follower(store);
    const killed = engine.nodes.slice(0, 2);
    for (const node of killed) await node.kill();
    const startMs = performance.now();
    await eventually("a refusal", BOUND_MS, () =>
      store.sync().then(
        () => false,
        (error: unknown) => error instanceof BackendUnavailableError,
      ),
    );
    const [outcome] = await store
      .compareAndSet([{ key: "r/b", expected: null, value: "1" }])
      .catch(() => [{ kind: "rejected" as const }]);
    expect(["uncertain", "rejected"]).toContain(outcome?.kind);
    expect(performance.now() - startMs).toBeLessThan(boundMs(2 * BOUND_MS));
    for (const node of killed) node.launch();
    const last = await eventually("a sync", BOUND_MS, () => store.sync());
    expect(last).toBeGreaterThan(first);
    await follower.reach(last);
    expect(follower.seen.get("r/a")).toEqual({ key: "r/a", value: "1", revision: first });
    await Promise.all(killed.map((node) => node.ready()));
    await follower.stop();
    await store.close();
  });

  test("a ZooKeeper leader that hangs and was deposed meanwhile never answers with an old state", async () => {
    const path = space();
    const leader = await eventually("a leader", BOUND_MS, () => engine.leader());
    const others = engine.ports.filter((_, i) => i !== leader);
    const [atLeader, elsewhere] = [await open(path, [engine.ports[leader]!]), await open(path, others)];
    const first = await swapped(atLeader, "r/a", null, "1");
    const follower = new Follower(elsewhere);
    await follower.reach(first);
    await engine.nodes[leader]!.pause();
    const second = await eventually("a write by the others", BOUND_MS, async () => {
      const [outcome] = await elsewhere.compareAndSet([{ key: "r/a", expected: first, value: "2" }]);
      if (outcome?.kind === "swapped") return outcome.revision;
      return outcome?.kind === "conflict" && outcome.current?.value === "2" && outcome.current.revision;
    });
    engine.nodes[leader]!.resume();
    // Called at once, while it may still believe that it leads, and until it is back.
    await eventually("a sync of the old leader", BOUND_MS, async () => {
      const [outcome] = await atLeader.compareAndSet([{ key: "r/a", expected: first, value: "3" }]);
      if (outcome?.kind !== "uncertain")
        expect(outcome).toMatchObject({ kind: "conflict", current: { value: "2" } });
      const synced = await atLeader.sync();
      expect(synced).toBeGreaterThanOrEqual(second);
      expect((await snapshotOf(atLeader)).get("r/a")?.value).toBe("2");
      return true;
    });
    await follower.reach(await elsewhere.sync());
    expect(follower.seen.get("r/a")?.value).toBe("2");
    await follower.stop();
    await atLeader.close();
    await elsewhere.close();
  });
});
