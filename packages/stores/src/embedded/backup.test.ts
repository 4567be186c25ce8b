/** What `docs/STORES.md` says about copies of the directory. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreElector } from "@tenure/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-backup-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** One election of the group, resigned; returns its term. */
async function elect(name: string): Promise<number> {
  const store = await EmbeddedStore.open({ directory: join(root, name) });
  const elector = StoreElector.open({ store });
  const candidate = { groupId: "g", nodeId: "a", instanceId: "1" };
  const result = await elector.campaign({ ...candidate, ttlMs: 5000 });
  if (result.kind !== "elected") throw new Error(`the campaign was answered ${result.kind}`);
  const { term } = result.leader;
  await elector.resign({ ...candidate, term });
  await elector.close();
  await store.close();
  return term;
}

const copy = (from: string, to: string) => cp(join(root, from), join(root, to), { recursive: true });

test("a copy of a closed store continues from the state of the copy, without later writes", async () => {
  expect(await elect("store")).toBe(1);
  await copy("store", "backup");
  expect([await elect("store"), await elect("store")]).toEqual([2, 3]);
  await rm(join(root, "store"), { recursive: true });
  await copy("backup", "store");
  // The terms 2 and 3 are used a second time: a restore must be followed by elections until the term is above them.
  expect([await elect("store"), await elect("store"), await elect("store")]).toEqual([2, 3, 4]);
});
