import { InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { loadLibraries } from "./engine-libraries.js";

const notFound = (name: string) => (): Promise<never> =>
  Promise.reject(Object.assign(new Error(`Cannot find package '${name}'`), { code: "ERR_MODULE_NOT_FOUND" }));

test("installed libraries are loaded by name", async () => {
  const loaded = await loadLibraries("x", { a: () => Promise.resolve(1), b: () => Promise.resolve("2") });
  expect(loaded).toEqual({ a: 1, b: "2" });
});

test("an error names every missing library, and none that is installed", async () => {
  const loading = loadLibraries("etcd", {
    here: () => Promise.resolve(1),
    "@x/one": notFound("@x/one"),
    two: notFound("two"),
  });
  await expect(loading).rejects.toThrow(InvalidRequestError);
  await expect(loading).rejects.toThrow(/etcd: needs .* run: npm install @x\/one two$/);
});

test("a library that is installed and does not load rejects with its own error", async () => {
  const cause = new Error("wrong ELF class");
  const loading = loadLibraries("x", { a: notFound("a"), b: () => Promise.reject(cause) });
  await expect(loading).rejects.toBe(cause);
});
