/**
 * `npm test`: set-up, then vitest with the arguments passed on (`npm test -- packages/core -t renew`). The last line
 * is `N passed, N failed`, with `, N skipped` where there are any. Temporary files of the tests are in a directory of the
 * run; the run fails if a file or a process is left in it.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeRunDirectory, removeRunDirectory } from "./leftovers.mjs";
import { main, run, runTool, ScriptError, setUp } from "./setup.mjs";

await main(async () => {
  await setUp();
  const code = await run(process.execPath, ["scripts/engines/dist/main.js"]);
  if (code !== 0) throw new ScriptError("The engines that tests need are not there, see above.", code);
  const directory = makeRunDirectory();
  const tallyDirectory = mkdtempSync(join(tmpdir(), "tenure-tally-"));
  try {
    const tallyFile = join(tallyDirectory, "tally.json");
    const failed = await runVitest(process.argv.slice(2), directory, tallyFile);
    const counts = readTally(tallyFile);
    const left = await removeRunDirectory(directory);
    if (left.length > 0) console.log(`The tests have left behind:\n  ${left.join("\n  ")}`);
    if (counts !== null) console.log(closingLine(counts));
    return failed || (left.length > 0 ? 1 : 0);
  } finally {
    for (const each of [directory, tallyDirectory]) rmSync(each, { recursive: true, force: true });
  }
});

function runVitest(args, directory, tallyFile) {
  const reporters = args.some((arg) => /^--reporters?(=|$)/.test(arg)) ? [] : ["--reporter=default"];
  reporters.push("--reporter=./scripts/tally-reporter.mjs");
  return runTool("vitest", ["run", ...reporters, ...args], {
    env: { TMPDIR: directory, TENURE_TALLY_FILE: tallyFile },
  });
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
