import { describe, expect, it } from "vitest";
import { CORE_COPIES, loadCore } from "../core-module.js";
import { loadCopy, patchedCode } from "./mutant-loader.js";
import { SIMULATIONS } from "./simulations.js";

const rule = "for this test";

it("a mutant is a separate copy of core, and the original is unchanged", async () => {
  const patches = [{ file: "core/errors.ts", find: 'code = "CLOSED"', replace: 'code = "MUTATED"' }];
  const mutant = await loadCopy(CORE_COPIES, { name: "test", rule, patches });
  const original = await loadCore();
  expect(new mutant.core.ClosedError("x").code).toBe("MUTATED");
  expect(new original.core.ClosedError("x").code).toBe("CLOSED");
});

it("the client of a mutant uses the core of that mutant", async () => {
  const { core, client } = await loadCopy(CORE_COPIES, { name: "test", rule, patches: [] });
  const original = await loadCore();
  const opened = client.HttpElector.open({ endpoints: [] });
  await expect(opened).rejects.toBeInstanceOf(core.InvalidRequestError);
  await expect(opened).rejects.not.toBeInstanceOf(original.core.InvalidRequestError);
});

it("a mutant whose patch does not match is refused", async () => {
  const patches = [{ file: "core/errors.ts", find: "no such text", replace: "" }];
  await expect(loadCopy(CORE_COPIES, { name: "test", rule, patches })).rejects.toThrow(
    'mutant test: "no such text" occurs 0 times in core/errors.ts, it must occur once',
  );
});

it("a mutant whose code is not TypeScript is refused", async () => {
  const patches = [{ file: "core/errors.ts", find: 'code = "CLOSED"', replace: "code = {" }];
  await expect(patchedCode({ name: "test", rule, patches })).rejects.toThrow();
});

describe.each(Object.values(SIMULATIONS))("the patches of $name", ({ mutants, harmless }) => {
  it.each([...mutants, ...harmless])("the patches of the mutant $name match the sources", async (mutant) => {
    expect((await patchedCode(mutant)).size).toBeGreaterThan(0);
  });
});
