/** docs/COMMAND.md against the command itself. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import { ROOT } from "./tarballs.test-kit.js";

describe("docs/COMMAND.md", () => {
  const scratch = new Scratch();
  afterAll(() => scratch.close());

  test("docs/COMMAND.md names every command, and every option of tenure run", async () => {
    const page = readFileSync(join(ROOT, "docs/COMMAND.md"), "utf8");
    const { stdout: commands } = await scratch.run(["--help"]);
    const { stdout: run } = await scratch.run(["run", "--help"]);
    const names = [...commands.matchAll(/^ {2}([a-z-]{2,}) /gm)].map(([, name = ""]) => name);
    const options = [...run.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name = ""]) => name);
    expect([names.length, options.length].every((count) => count > 15)).toBe(true);
    const documented = [...names.filter((name) => name !== "help"), ...options];
    const shown = new Set([...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = ""]) => code.split(" ")));
    expect(documented.filter((name) => !shown.has(name))).toEqual([]);
  });
});
