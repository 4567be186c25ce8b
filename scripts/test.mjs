/**
 * `npm test`: set-up, then vitest with the arguments passed on (`npm test -- packages/core -t renew`). The last line
 * is `N passed, N failed`, with `, N skipped` where there are any.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main, run, runTool, ScriptError, setUp } from "./setup.mjs";

await main(async () => {
  await setUp();
  const code = await run(process.execPath, ["scripts/engines/dist/main.js"]);
  if (code !== 0) throw new ScriptError("The engines that tests need are not there, see above.", code);
  const directory = mkdtempSync(join(tmpdir(), "tenure-test-"));
  try {
    const tallyFile = join(directory, "tally.json");
    const failed = await runVitest(process.argv.slice(2), tallyFile);
    const counts = readTally(tallyFile);
    if (counts !== null) console.log(closingLine(counts));
    return failed;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

function runVitest(args, tallyFile) {
  const reporters = args.some((arg) => /^--reporters?(=|$)/.test(arg)) ? [] : ["--reporter=default"];
  reporters.push("--reporter=./scripts/tally-reporter.mjs");
  return runTool("vitest", ["run", ...reporters, ...args], { env: { TENURE_TALLY_FILE: tallyFile } });
}

/** `null` when vitest ended before it had counted: interrupted, or it found nothing to run. */
function readTally(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

function closingLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
