import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the example in the README runs", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, program = ""] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];
  const args = ["--input-type=module", "--eval", program];
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
  expect(stdout).toBe("term 1, may act: true\n");
});
