/** What strangers ask for must cost no memory. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { failureOf, inWorld, type World } from "./world.test-kit.js";
import type { StoreElector } from "./store-elector.js";

const GROUPS = 10_000;

async function askAbout(w: World, elector: StoreElector, name: string): Promise<void> {
  for (let from = 0; from < GROUPS; from += 1000) {
    const ids = Array.from({ length: 1000 }, (_, i) => `${name}/${from + i}`);
    const watches = ids.map((groupId) => elector.watch(groupId)[Symbol.asyncIterator]());
    const asked = ids.flatMap((groupId) => [
      elector.leader(groupId),
      elector.renew({ groupId, nodeId: "a", term: 1, ttlMs: 1000 }),
      elector.resign({ groupId, nodeId: "a", term: 1 }),
      elector.history(groupId),
      failureOf(elector.group(groupId)),
      elector.resume({ groupId }),
      failureOf(elector.stepDown({ groupId, by: "ops" })),
    ]);
    await w.until(Promise.all([...asked, ...watches.map((watch) => watch.next())]));
    await w.until(Promise.all(watches.map(async (watch) => watch.return?.())));
  }
  // What the virtual clock holds of timers given up is gone once their time has come.
  await w.clock.advance(60_000);
}

/** Without garbage. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed;
}

test(
  "ten thousand unknown groups that were asked about are forgotten",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    // The first round makes what any first use makes.
    await askAbout(w, elector, "warm");
    const beforeBytes = heapBytes();
    await askAbout(w, elector, "unknown");
    // Kept in the elector's map they would be several megabytes.
    expect(heapBytes() - beforeBytes).toBeLessThan(1_500_000);
    expect((await elector.groups()).groups).toEqual([]);
    expect(store.sent).toEqual([]);
  }),
);
