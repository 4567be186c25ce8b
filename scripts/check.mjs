/** `npm run check`: everything that must hold before a commit. Stops at the first step that fails. `--no-tests`: all but the tests. */
import { join } from "node:path";
import { checkPackages } from "./packages.mjs";
import { build, checkNode, ensureInstalled, main, root, run, runTool, ScriptError } from "./setup.mjs";

const node = (file, ...args) => run(process.execPath, [join(root, file), ...args]);

// Types come before lint: rules that know types read the declarations that the build writes.
const STEPS = [
  ["install", () => ensureInstalled(), "see above"],
  ["format", () => runTool("oxfmt", ["--check", "."]), "run npm run format"],
  ["types", () => build(), "see above"],
  ["lint", () => runTool("oxlint", ["--type-aware", "--deny-warnings"]), "see above"],
  ["house rules", () => node("scripts/house-rules.mjs"), "see above"],
  ["packages", () => checkPackages(), "see above"],
  ["tests", () => node("scripts/test.mjs"), "see above"],
];

await main(async () => {
  checkNode(process.versions.node);
  const steps = process.argv.includes("--no-tests") ? STEPS.filter(([name]) => name !== "tests") : STEPS;
  for (const [name, step, remedy] of steps) {
    const startedMs = performance.now();
    const code = (await step()) ?? 0;
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    if (code !== 0) throw new ScriptError(`check: ${name} failed after ${seconds} s; ${remedy}.`, code);
    console.log(`check: ${name} ok (${seconds} s)`);
  }
});
