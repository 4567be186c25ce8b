/** Signs of life of members. */
import { expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.js";
import type { CasOp } from "../store/store.js";
import { VirtualClock } from "../testing/virtual-clock.js";
import { StoreElector } from "./store-elector.js";

class CountingStore extends MemoryStore {
  readonly memberWrites: CasOp[] = [];

  override compareAndSet(batch: readonly CasOp[]): ReturnType<MemoryStore["compareAndSet"]> {
    this.memberWrites.push(...batch.filter(({ key }) => key.startsWith("m/")));
    return super.compareAndSet(batch);
  }
}

async function world(
  count: number,
): Promise<{ clock: VirtualClock; store: CountingStore; electors: StoreElector[] }> {
  const clock = new VirtualClock();
  const store = new CountingStore();
  const electors = Array.from({ length: count }, () =>
    StoreElector.open({ store, clock, keepMembers: true }),
  );
  await clock.advance(0);
  return { clock, store, electors };
}

const A = { groupId: "g", nodeId: "a", ttlMs: 5000, instanceId: "a1" };

test("campaigns, waits, renewals and heartbeats count as activity of the member at every server", async () => {
  const { clock, electors } = await world(2);
  const [one, two] = electors as [StoreElector, StoreElector];
  await one.campaign({ ...A, metadata: { zone: "x" } });
  await one.campaign({ ...A, nodeId: "b" });
  const waiting = one.campaign({ ...A, nodeId: "c", waitMs: 60_000 });
  await one.heartbeat({ groupId: "g", nodeId: "d", metadata: { version: 2 } });
  await clock.advance(10_001);
  await two.renew({ ...A, term: 1 }).catch(() => {});
  const members = await two.members("g");
  expect(members.map(({ nodeId, role }) => [nodeId, role])).toEqual([
    ["a", "candidate"],
    ["b", "candidate"],
    ["c", "leader"],
    ["d", "observer"],
  ]);
  expect(members[0]?.metadata).toEqual({ zone: "x" });
  expect((await waiting).kind).toBe("elected");
  for (const each of electors) await each.close();
});

test("a member that is silent for three periods is gone, and one that renews is not", async () => {
  const { clock, electors } = await world(2);
  const [one, two] = electors as [StoreElector, StoreElector];
  await one.campaign(A);
  await one.heartbeat({ groupId: "g", nodeId: "silent" });
  for (let round = 0; round < 25; round++) {
    await clock.advance(2000);
    await one.renew({ ...A, term: 1 });
  }
  for (const each of [one, two]) {
    expect((await each.members("g")).map(({ nodeId }) => nodeId)).toEqual(["a"]);
  }
  for (const each of electors) await each.close();
});

test("members are written at most once per group in ten seconds, however active the members are", async () => {
  const { clock, store, electors } = await world(1);
  const [one] = electors as [StoreElector];
  await one.campaign(A);
  for (let round = 0; round < 300; round++) {
    await clock.advance(200);
    await one.renew({ ...A, term: 1 });
  }
  expect(store.memberWrites.length).toBeLessThanOrEqual(7);
  expect(store.memberWrites.length).toBeGreaterThanOrEqual(4);
  await one.close();
});

test("a silent member becomes suspect, then down, and is listed for ten minutes; a returning one is healthy", async () => {
  const { clock, electors } = await world(1);
  const [elector] = electors as [StoreElector];
  await elector.createGroup({ groupId: "g" });
  const startMs = clock.wallMs();
  await elector.heartbeat({ groupId: "g", nodeId: "d" });
  const look = async () =>
    (await elector.health("g")).map(({ state, sinceMs }) => [state, sinceMs - startMs]);
  expect(await look()).toEqual([["healthy", 0]]);
  await clock.advance(19_999);
  expect(await look()).toEqual([["healthy", 0]]);
  await clock.advance(1);
  expect(await look()).toEqual([["suspect", 20_000]]);
  await clock.advance(10_000);
  expect(await look()).toEqual([["down", 30_000]]);
  expect(await elector.members("g")).toEqual([]);
  await elector.heartbeat({ groupId: "g", nodeId: "d" });
  expect(await look()).toEqual([["healthy", 30_000]]);
  await clock.advance(600_000);
  expect(await look()).toEqual([]);
  await elector.close();
});
