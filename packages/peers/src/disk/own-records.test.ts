import { BackendUnavailableError, type CasOp, type CasOutcome, MemoryStore } from "@tenure/core";
import { describe, expect, it } from "vitest";
import { OwnRecords } from "./own-records.js";
import { StoredDisk } from "./stored-disk.js";

/** Writes, and says that it does not know. */
class UncertainStore extends MemoryStore {
  isUncertain = false;

  override async compareAndSet(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    const outcomes = await super.compareAndSet(batch);
    return this.isUncertain ? batch.map(() => ({ kind: "uncertain", cause: new Error("lost") })) : outcomes;
  }
}

describe("a server's own records", () => {
  it("last, are removed by null, and leave everything else in the store alone", async () => {
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

  it("are written one after the other, each over the one before", async () => {
    const records = await OwnRecords.open(new MemoryStore());
    await Promise.all([1, 2, 3].map((value) => records.put({ n: value })));
    expect(records.get("n")).toBe(3);
  });

  it("reject what is not known to have lasted, and go on from what is there", async () => {
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
  it("has an id of its own from its first use on, and keeps vote and electorate", async () => {
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

describe("the slots of records", () => {
  const keysIn = async (store: MemoryStore): Promise<readonly string[]> => {
    for await (const { entries } of store.feed()) return entries.map(({ key }) => key);
    return [];
  };

  it("are used again, so the store grows with what is kept at once and not with what ever was", async () => {
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

  it("hold one key in one place, also where it is not known whether a write has lasted", async () => {
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
