import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadCore } from "../core-module.js";
import { distOf, loadMutant, patched } from "./mutant-loader.js";
import { MUTANTS } from "./mutants.js";

const rule = "for this test";

it("a mutant is a core of its own, and the original stays as it is", async () => {
  const patches = [{ file: "errors.js", find: '"CLOSED"', replace: '"MUTATED"' }];
  const mutant = await loadMutant({ name: "test", rule, patches });
  const original = await loadCore();
  expect(new mutant.core.ClosedError("x").code).toBe("MUTATED");
  expect(new original.core.ClosedError("x").code).toBe("CLOSED");
});

it("the client of a mutant runs over the core of that mutant", async () => {
  const { core, client } = await loadMutant({ name: "test", rule, patches: [] });
  const original = await loadCore();
  const opened = client.HttpElector.open({ endpoints: [] });
  await expect(opened).rejects.toBeInstanceOf(core.InvalidRequestError);
  await expect(opened).rejects.not.toBeInstanceOf(original.core.InvalidRequestError);
});

it.each([
  ["nowhere", "no such text"],
  ["more than once", "code"],
])("a patch that fits %s is refused", async (_, find) => {
  const patches = [{ file: "errors.js", find, replace: "" }];
  await expect(loadMutant({ name: "test", rule, patches })).rejects.toThrow("it must occur once");
});

it.each(MUTANTS)("the mutant $name fits the packages as they are built", ({ name, patches }) => {
  const files = new Map<string, string>();
  for (const patch of patches) {
    const path = join(distOf(patch.package ?? "core"), patch.file);
    files.set(path, patched(files.get(path) ?? readFileSync(path, "utf8"), patch, name));
  }
  expect(files.size).toBeGreaterThan(0);
});
