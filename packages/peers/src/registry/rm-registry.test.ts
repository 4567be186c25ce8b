import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import { MAX_VERSION_JUMP, type RmEntry, RmRegistry } from "./rm-registry.js";

const entryOf = (n: number, endpoint = "https://r:1"): RmEntry => ({
  backendHash: "h",
  endpoint,
  isRegistered: true,
  version: { n, by: "other" },
});

async function registryOver(store: MemoryStore): Promise<RmRegistry> {
  const records = await OwnRecords.open(store);
  return new RmRegistry({ identity: "own", records, clock: new VirtualClock() });
}

describe("the registry of one server", () => {
  it("a registry accepts no version that is out of reach, so every entry can be changed", async () => {
    const registry = await registryOver(new MemoryStore());
    await registry.merge([entryOf(Number.MAX_SAFE_INTEGER), entryOf(MAX_VERSION_JUMP + 1)]);
    expect(registry.entries()).toEqual([]);
    await registry.merge([entryOf(MAX_VERSION_JUMP)]);
    const { entry } = await registry.make({ kind: "unregister", backendHash: "h", endpoint: "https://r:1" });
    expect(entry.version.n).toBe(MAX_VERSION_JUMP + 1);
    expect(Number.isSafeInteger(entry.version.n)).toBe(true);
  });

  it("a registry is the same after a restart, and a change writes one entry, not all", async () => {
    const store = new MemoryStore();
    const registry = await registryOver(store);
    await registry.merge(Array.from({ length: 50 }, (_, index) => entryOf(1, `https://r:${index + 1}`)));
    const written: number[] = [];
    const compareAndSet = store.compareAndSet.bind(store);
    store.compareAndSet = (batch) => {
      written.push(batch.length);
      return compareAndSet(batch);
    };
    await registry.make({ kind: "unregister", backendHash: "h", endpoint: "https://r:7" });
    expect(written).toEqual([1]);
    const again = await registryOver(store);
    expect(again.entries()).toEqual(registry.entries());
    expect(again.endpoints()).toHaveLength(49);
  });

  it("a registry is read completely in pages", async () => {
    const registry = await registryOver(new MemoryStore());
    await registry.merge(Array.from({ length: 25 }, (_, index) => entryOf(1, `https://r:${index + 1}`)));
    const found: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page: ReturnType<RmRegistry["page"]> = registry.page(next, 10);
      found.push(...page.entries.map(({ endpoint }) => endpoint));
      next = page.next;
    }
    expect(found.toSorted()).toEqual(registry.endpoints());
  });
});
