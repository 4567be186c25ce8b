import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeConformance } from "@tenure/core/conformance";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-embedded-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

storeConformance({
  test,
  open: (space) => EmbeddedStore.open({ directory: join(root, space) }),
  dispose: (space) => rm(join(root, space), { recursive: true }),
});

test("every allowed key is there after reopening, and none is mistaken for the head", async () => {
  const directory = join(root, "keys");
  const keys = [
    "tenure",
    "1",
    "true",
    "\u0001",
    "\u001b\u001c",
    "\u0002tenure",
    "\u{10FFFF}".repeat(256),
    "漢".repeat(512),
  ];
  for (let code = 1; code < 300; code++)
    keys.push(String.fromCodePoint(code), `r/${String.fromCodePoint(code)}/x`);
  const batch = [...new Set(keys)].map((key) => ({ key, expected: null, value: `of ${key}` }));
  const store = await EmbeddedStore.open({ directory });
  const outcomes = await store.compareAndSet(batch);
  expect(outcomes.filter(({ kind }) => kind !== "swapped")).toEqual([]);
  await store.close();
  const again = await EmbeddedStore.open({ directory });
  for await (const { entries } of again.feed()) {
    const found = entries.map(({ key, value }) => [key, value] as const);
    expect(new Map(found)).toEqual(new Map(batch.map(({ key, value }) => [key, value] as const)));
    break;
  }
  await again.close();
});
