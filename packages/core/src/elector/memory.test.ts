/** What strangers ask for must cost no memory. */
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
      elector.group(groupId),
      elector.resume({ groupId }),
      failureOf(elector.stepDown({ groupId, by: "ops" })),
    ]);
    await w.until(Promise.all([...asked, ...watches.map((watch) => watch.next())]));
    await w.until(Promise.all(watches.map((watch) => watch.return?.())));
  }
}

test(
  "ten thousand unknown groups that were asked about are forgotten",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await w.clock.advance(0);
    // The first round makes what any first use makes.
    await askAbout(w, elector, "warm");
    const beforeBytes = process.memoryUsage().heapUsed;
    await askAbout(w, elector, "unknown");
    // As objects in the elector's map they would be some ten megabytes; garbage of this round may be in it.
    expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(64_000_000);
    expect((await elector.groups()).groups).toEqual([]);
    expect(store.sent).toEqual([]);
  }),
);
