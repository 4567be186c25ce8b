import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";
import { Child } from "./fixtures/child.test.helper.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-full-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Told {
  readonly acknowledged: readonly string[];
  readonly shown: readonly string[];
  readonly failures: readonly string[];
  readonly recoveries: number;
}

test.each([
  ["batches of one write", 1, 400],
  ["batches of 40 writes", 40, 4000],
])(
  "a full disk causes no false acknowledgement or entry, and the store recovers: %s",
  async (_, size, fileBlocks) => {
    const directory = join(root, `filled-${size}`);
    const child = new Child("filler.mjs", [directory, String(size)], { fileBlocks });
    let told: Told;
    try {
      told = JSON.parse((await child.line()) ?? "null") as Told;
      expect(await child.ended).toEqual({ code: 0, signal: null });
    } finally {
      await child.destroy();
    }
    expect(told.acknowledged.length).toBeGreaterThan(100);
    expect(told.recoveries).toBe(2);
    // The write that failed is uncertain, the one behind it was never sent, and the feed ended with a reason.
    expect(new Set(told.failures)).toEqual(
      new Set(["uncertain", "BACKEND_UNAVAILABLE", "feed BACKEND_UNAVAILABLE"]),
    );
    const store = await EmbeddedStore.open({ directory });
    for await (const { entries } of store.feed()) {
      const there = new Set(entries.map(({ key }) => key));
      expect(told.acknowledged.filter((key) => !there.has(key))).toEqual([]);
      expect(told.shown.filter((key) => !there.has(key))).toEqual([]);
      expect(there.size).toBe(told.acknowledged.length);
      break;
    }
    await store.close();
  },
);

test("a store is not created without room for it, and the process reports that", async () => {
  const directory = join(root, "no-room");
  const child = new Child("holder.mjs", [directory], { fileBlocks: 8 });
  try {
    const said = JSON.parse((await child.line()) ?? "null") as { code: string; message: string };
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(said.code).toBe("BACKEND_UNAVAILABLE");
    expect(said.message).toContain(`directory ${directory} could not be opened`);
  } finally {
    await child.destroy();
  }
  await (await EmbeddedStore.open({ directory })).close();
});
