/** The page as it is built, without a browser. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PAGE_DIRECTORY } from "./page-directory.js";

const MAX_BYTES = 60 * 1024;

test("the whole page is less than 60 KiB compressed", () => {
  const files = readdirSync(PAGE_DIRECTORY, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".br"),
  );
  const sizes = Object.fromEntries(files.map((name) => [name, statSync(join(PAGE_DIRECTORY, name)).size]));
  // The document, a script, a style sheet and an icon.
  expect(files).toHaveLength(4);
  const bytes = Object.values(sizes).reduce((sum, each) => sum + each, 0);
  expect(bytes, JSON.stringify(sizes)).toBeLessThan(MAX_BYTES);
});
