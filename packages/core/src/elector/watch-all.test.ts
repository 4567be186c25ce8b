/** Watches of all groups. */
import { expect, test } from "vitest";
import type { WatchEvent } from "../elector.js";
import { MemoryStore } from "../store/memory-store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { StoreElector } from "./store-elector.js";

async function servers(count: number): Promise<{ clock: VirtualClock; electors: StoreElector[] }> {
  const clock = new VirtualClock();
  const store = new MemoryStore();
  const electors = Array.from({ length: count }, () =>
    StoreElector.open({ store, clock, random: () => 0.5 }),
  );
  await clock.advance(0);
  return { clock, electors };
}

const A = { nodeId: "a", ttlMs: 10_000, instanceId: "a1" };

type Taken = Pick<WatchEvent, "groupId" | "type" | "cursor">;

async function take(iterator: AsyncIterator<WatchEvent>, count: number): Promise<Taken[]> {
  const taken: Taken[] = [];
  while (taken.length < count) {
    const { groupId, type, cursor } = (await iterator.next()).value as WatchEvent;
    taken.push({ groupId, type, cursor });
  }
  return taken;
}

test("a watch of all groups delivers the state of each led group first, then every event in the store's order", async () => {
  const { electors } = await servers(2);
  const [one, two] = electors as [StoreElector, StoreElector];
  await one.campaign({ ...A, groupId: "led" });
  await one.campaign({ ...A, groupId: "vacant" });
  await one.resign({ groupId: "vacant", nodeId: "a", term: 1 });
  const watch = two.watchAll()[Symbol.asyncIterator]();
  expect(await take(watch, 1)).toMatchObject([{ groupId: "led", type: "LEADER_CHANGED" }]);
  await one.resign({ groupId: "led", nodeId: "a", term: 1 });
  await two.campaign({ ...A, groupId: "new" });
  expect(await take(watch, 2)).toMatchObject([
    { groupId: "led", type: "LEADER_LOST" },
    { groupId: "new", type: "LEADER_CHANGED" },
  ]);
  await watch.return?.();
  for (const each of electors) await each.close();
});

test("a cursor from one server continues at another without a gap or a repetition", async () => {
  const { electors } = await servers(2);
  const [one, two] = electors as [StoreElector, StoreElector];
  await one.campaign({ ...A, groupId: "g" });
  const first = one.watchAll()[Symbol.asyncIterator]();
  const [state] = await take(first, 1);
  for (let term = 1; term <= 10; term++) {
    await one.resign({ groupId: "g", nodeId: "a", term });
    await two.campaign({ ...A, groupId: "g" });
  }
  const here = await take(first, 20);
  const cut = here[6]?.cursor ?? 0;
  const second = two.watchAll({ cursor: cut })[Symbol.asyncIterator]();
  expect(await take(second, 13)).toEqual(here.slice(7));
  expect(new Set(here.map(({ cursor }) => cursor)).size).toBe(20);
  expect(here.every(({ cursor }) => cursor > (state?.cursor ?? 0))).toBe(true);
  await first.return?.();
  await second.return?.();
  for (const each of electors) await each.close();
});

test("a cursor from before the server's start gets the state of every group as RESYNC", async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore();
  const old = StoreElector.open({ store, clock });
  await old.campaign({ ...A, groupId: "led" });
  await old.campaign({ ...A, groupId: "vacant" });
  await old.resign({ groupId: "vacant", nodeId: "a", term: 1 });
  await old.close();
  const young = StoreElector.open({ store, clock });
  const watch = young.watchAll({ cursor: 4 })[Symbol.asyncIterator]();
  const resync = await take(watch, 2);
  expect(resync.map(({ groupId, type }) => [groupId, type])).toEqual([
    ["led", "RESYNC"],
    ["vacant", "RESYNC"],
  ]);
  await watch.return?.();
  await young.close();
});

test("return() ends a waiting watch of all groups", async () => {
  const { electors } = await servers(1);
  const watch = electors[0]?.watchAll()[Symbol.asyncIterator]();
  const pending = watch?.next();
  expect(await watch?.return?.()).toEqual({ done: true, value: undefined });
  expect(await pending).toEqual({ done: true, value: undefined });
  await electors[0]?.close();
});
