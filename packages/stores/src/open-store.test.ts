import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidRequestError } from "@tenure/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "./open-store.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-open-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

test("memory: is a store of its own each time", async () => {
  const [first, second] = [await openStore("memory:"), await openStore("MEMORY:")];
  await first.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
  expect([first.name, await first.sync(), await second.sync()]).toEqual(["memory", 1, 0]);
  await Promise.all([first.close(), second.close()]);
});

test("embedded:DIR is the store in that directory, by whatever spelling", async () => {
  for (const [revision, url] of [`embedded:${root}/data`, `embedded://${root}/data`].entries()) {
    const store = await openStore(url);
    expect([store.name, await store.sync()]).toEqual(["embedded", revision]);
    await store.compareAndSet([{ key: `r/${revision}`, expected: null, value: "1" }]);
    await store.close();
  }
});

test.each([
  "",
  "tenure-data",
  "redis://localhost",
  "constructor:",
  "memory",
  ":memory:",
  "memory:x",
  "embedded:",
])("%j is refused, naming the field", async (url) => {
  const error: unknown = await openStore(url).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect((error as InvalidRequestError).field).toBe("store");
});

test("an unknown scheme is told which ones are known", async () => {
  await expect(openStore("redis://localhost")).rejects.toThrow(/memory: or embedded:/);
});

test("an engine is loaded only when it is asked for", () => {
  const module = new URL("../dist/index.js", import.meta.url).href;
  const script = `
    const { openStore } = await import(${JSON.stringify(module)});
    await (await openStore("memory:")).close();
    process.stdout.write(String(process.report.getReport().sharedObjects.some((file) => file.includes("lmdb"))));`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })).toBe(
    "false",
  );
});
