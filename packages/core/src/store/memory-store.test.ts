import { expect, test } from "vitest";
import { storeConformance } from "../conformance/store.js";
import { MemoryStore } from "./memory-store.js";

storeConformance({ test, open: () => Promise.resolve(new MemoryStore()) });

test("a hundred thousand keys are renewed by many electors on one store", async () => {
  const store = new MemoryStore();
  const keys = Array.from({ length: 100_000 }, (_, i) => `r/group-${i}`);
  const revisions = new Map<string, number>();
  for (let round = 0; round < 3; round++) {
    for (let start = 0; start < keys.length; start += 10_000) {
      const part = keys.slice(start, start + 10_000);
      const batch = part.map((key) => ({ key, expected: revisions.get(key) ?? null, value: `${round}` }));
      const outcomes = await store.compareAndSet(batch);
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome.kind === "swapped") revisions.set(part[i]!, outcome.revision);
      }
    }
  }
  expect(revisions.size).toBe(100_000);
  expect(await store.sync()).toBe(300_000);
});
