import { expect, it } from "vitest";
import { inOrder } from "./test-order.mjs";

it("files that compute take turns with files that wait, and short ones come last", () => {
  const files = [
    "packages/core/a.test.ts",
    "simulation/a.test.ts",
    "scripts/b.test.mjs",
    "packages/cli/a.test.ts",
    "packages/stores/b.test.ts",
    "examples/c.test.ts",
  ];
  expect(inOrder(files, (path) => path)).toEqual([
    "simulation/a.test.ts",
    "packages/cli/a.test.ts",
    "packages/stores/b.test.ts",
    "scripts/b.test.mjs",
    "examples/c.test.ts",
    "packages/core/a.test.ts",
  ]);
});
