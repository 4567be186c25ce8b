/** Requests for unknown groups must not cost memory. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.js";
import { A, claimOf, failureOf, inWorld, type World } from "./world.test-kit.js";
import type { StoreElector } from "./store-elector.js";

const GROUPS = 10_000;
const DELETED = 3000;
const ELECTORS = 10;

async function askAbout(w: World, elector: StoreElector, name: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    const ids = Array.from({ length: 1000 }, (_, i) => `${name}/${from + i}`);
    const watches = ids.map((groupId) => elector.watch(groupId)[Symbol.asyncIterator]());
    const asked = ids.flatMap((groupId) => [
      elector.leader(groupId),
      elector.renew({ groupId, nodeId: "a", term: 1, ttlMs: 1000 }),
      elector.resign({ groupId, nodeId: "a", term: 1 }),
      elector.history(groupId),
      failureOf(elector.group(groupId)),
      failureOf(elector.resume({ groupId })),
      failureOf(elector.stepDown({ groupId, by: "ops" })),
    ]);
    await w.until(Promise.all([...asked, ...watches.map((watch) => watch.next())]));
    await w.until(Promise.all(watches.map(async (watch) => watch.return?.())));
  }
  // The virtual clock keeps cancelled timers until their time has come.
  await w.clock.advance(60_000);
}

/** Heap size after garbage collection. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed;
}

test(
  "ten thousand unknown groups that were read are dropped from memory",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    // The first round allocates what any first use allocates.
    await askAbout(w, elector, "warm", 1000);
    const beforeBytes = heapBytes();
    await askAbout(w, elector, "unknown", GROUPS);
    // Kept in the elector's map, they would take several megabytes.
    expect(heapBytes() - beforeBytes).toBeLessThan(1_500_000);
    expect((await elector.groups()).groups).toEqual([]);
    expect(store.sent).toEqual([]);
  }),
);

test(
  "a deleted group takes less than a third of the memory of a group without a leader, and gets the same answers",
  inWorld(async (w) => {
    const { elector } = w.server();
    const make = async (name: string, remove: boolean) => {
      const ids = Array.from({ length: DELETED }, (_, i) => `${name}/${i}`);
      await w.until(Promise.all(ids.map((groupId) => elector.campaign({ ...A, groupId }))));
      await w.until(Promise.all(ids.map((groupId) => elector.resign(claimOf({ ...A, groupId }, 1)))));
      if (remove)
        await w.until(Promise.all(ids.map((groupId) => elector.deleteGroup({ groupId, by: "ops" }))));
      await w.clock.advance(60_000);
    };
    await make("kept", false);
    await make("deleted", true);
    const open = async (prefix: string, store: MemoryStore) => {
      const elector = w.elector({ store });
      await w.until(elector.leader(`${prefix}/1`));
      await w.clock.advance(5000);
      return elector;
    };
    // The heap holds much else, which makes a difference wrong by up to a megabyte: so many electors are measured at once.
    const measure = async (prefix: string) => {
      const store = await storeOf(w, prefix);
      const other = await open(prefix, store);
      const beforeBytes = heapBytes();
      for (let i = 0; i < ELECTORS; i++) await open(prefix, store);
      return { other, perGroup: (heapBytes() - beforeBytes) / DELETED / ELECTORS };
    };
    const kept = await measure("kept");
    const { other, perGroup } = await measure("deleted");
    expect(perGroup).toBeLessThan(kept.perGroup / 3);
    const groupId = "deleted/7";
    expect((await w.until(other.leader(groupId))).value).toMatchObject({ leader: null, term: 1 });
    expect((await w.until(other.resign(claimOf({ ...A, groupId }, 1)))).value).toEqual({ kind: "resigned" });
    expect((await w.until(other.campaign({ ...A, groupId }))).value).toMatchObject({ leader: { term: 2 } });
  }),
);

/** A store that holds only the groups below a prefix, so that an elector over it uses no memory for others. */
async function storeOf(w: World, prefix: string): Promise<MemoryStore> {
  const store = new MemoryStore();
  for await (const { entries } of w.truth.feed()) {
    const own = entries.filter(({ key }) => key.slice(2).startsWith(prefix));
    await store.compareAndSet(own.map(({ key, value }) => ({ key, value, expected: null })));
    break;
  }
  return store;
}
