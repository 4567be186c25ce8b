import { BackendUnavailableError, type CasOp, type CasOutcome, MemoryStore } from "@tenure/core";
import { describe, expect, it } from "vitest";
import { OwnRecords } from "./own-records.js";
import { StoredDisk } from "./stored-disk.js";

/** Writes, and answers uncertain. */
class UncertainStore extends MemoryStore {
  isUncertain = false;

  override async compareAndSet(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    const outcomes = await super.compareAndSet(batch);
    return this.isUncertain ? batch.map(() => ({ kind: "uncertain", cause: new Error("lost") })) : outcomes;
  }
}

describe("OwnRecords", () => {
  it("own records are durable, are removed by null, and leave all other keys in the store unchanged", async () => {
    const store = new MemoryStore();
    await store.compareAndSet([{ key: "r/group", expected: null, value: "{}" }]);
    const records = await OwnRecords.open(store);
    await records.put({ "x/1": { a: 1 }, "x/2": 2 });
    await records.put({ "x/2": null });
    const again = await OwnRecords.open(store);
    expect([...again.under("x/")]).toEqual([["1", { a: 1 }]]);
    expect([...again.under("")]).toHaveLength(1);
    expect(again.get("x/2")).toBeNull();
  });

  it("own records are written one after the other, each over the previous one", async () => {
    const records = await OwnRecords.open(new MemoryStore());
    await Promise.all([1, 2, 3].map((value) => records.put({ n: value })));
    expect(records.get("n")).toBe(3);
  });

  it("a write of own records that is uncertain rejects, and the next write continues from what is stored", async () => {
    const store = new UncertainStore();
    const records = await OwnRecords.open(store);
    store.isUncertain = true;
    await expect(records.put({ n: 1 })).rejects.toThrow(BackendUnavailableError);
    store.isUncertain = false;
    await records.put({ n: 2 });
    expect((await OwnRecords.open(store)).get("n")).toBe(2);
  });
});

describe("the disk of a peer", () => {
  it("the disk of a peer has its own id from its first use on, and keeps vote and electorate", async () => {
    const store = new MemoryStore();
    const disk = await StoredDisk.open(await OwnRecords.open(store));
    const vote = { term: 3, holderId: "n1", holderEndpoint: "https://n1:1", ttlMs: 1000 };
    const config = { cluster: disk.id, epoch: { term: 1, n: 0 }, members: {} };
    expect(disk.read()).toEqual({ vote: null, config: null });
    await disk.write({ vote });
    await disk.write({ config });
    const again = await StoredDisk.open(await OwnRecords.open(store));
    expect([again.id, again.read()]).toEqual([disk.id, { vote, config }]);
    expect((await StoredDisk.open(await OwnRecords.open(new MemoryStore()))).id).not.toBe(disk.id);
  });
});

describe("the slots of own records", () => {
  const keysIn = async (store: MemoryStore): Promise<readonly string[]> => {
    for await (const { entries } of store.feed()) return entries.map(({ key }) => key);
    return [];
  };

  it("slots are reused, so the store grows with the records kept at once and not with all past ones", async () => {
    const store = new MemoryStore();
    const records = await OwnRecords.open(store);
    for (let round = 0; round < 20; round++) {
      await records.put({ [`a/${round}`]: round, [`b/${round}`]: round });
      await records.put({ [`a/${round}`]: null, [`b/${round}`]: null });
    }
    await records.put({ last: 1 });
    expect(await keysIn(store)).toHaveLength(2);
    const again = await OwnRecords.open(store);
    expect([...again.under("")]).toEqual([["last", 1]]);
    await again.put({ more: 2, most: 3 });
    expect(await keysIn(store)).toHaveLength(3);
  });

  it("each key has one slot, even if the outcome of a write is uncertain", async () => {
    const store = new UncertainStore();
    const records = await OwnRecords.open(store);
    await records.put({ kept: 0, gone: 0 });
    await records.put({ gone: null });
    store.isUncertain = true;
    await expect(records.put({ n: 1 })).rejects.toThrow(BackendUnavailableError);
    await expect(records.put({ n: null, kept: 9 })).rejects.toThrow(BackendUnavailableError);
    store.isUncertain = false;
    await records.put({ n: 2, other: 3 });
    const again = await OwnRecords.open(store);
    expect(Object.fromEntries(again.under(""))).toEqual({ kept: 9, n: 2, other: 3 });
    expect([...again.under("")]).toHaveLength(3);
    expect(await keysIn(store)).toHaveLength(3);
  });
});
