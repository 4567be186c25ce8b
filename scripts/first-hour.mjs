/**
 * `npm run first-hour`: what a newcomer does, in a fresh clone in a temporary folder: the README, the tutorial and the guides, block
 * by block, then `npm test`. Prints how long each took, and the time from the clone to the first election and the first
 * takeover. `--no-tests` leaves out `npm test`; names of pages after it select pages. npm's own cache is used as it is.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main, root, ScriptError, setUp } from "./setup.mjs";

/** The first `npm start` of a clone installs and builds. */
const PATIENCE_MS = 1_800_000;

await main(async () => {
  await setUp();
  const { Reader, missingFor } = await import("../packages/cli/dist/docs/reader.test-kit.js");
  const { WALKTHROUGHS } = await import("../packages/cli/dist/docs/pages.test-kit.js");
  const args = process.argv.slice(2);
  const names = args.filter((arg) => !arg.startsWith("--"));
  // The README comes first: it installs and builds.
  const pages = WALKTHROUGHS.toSorted((a, b) => Number(b === "README.md") - Number(a === "README.md"));
  const wanted = pages.filter(
    (page) => page === "README.md" || names.length === 0 || names.some((name) => page.includes(name)),
  );

  const folder = mkdtempSync(join(tmpdir(), "tenure-first-hour-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const clone = join(folder, "tenure");
  const startedMs = performance.now();
  const seconds = (fromMs) => `${((performance.now() - fromMs) / 1000).toFixed(1).padStart(7)} s`;
  execFileSync("git", ["clone", "--quiet", root, clone]);
  console.log(`${seconds(startedMs)}  git clone (${commitOf(clone)})`);

  for (const page of wanted) {
    const text = readFileSync(join(clone, page), "utf8");
    const missing = missingFor(page, text);
    if (missing.length > 0)
      console.log(`${" ".repeat(9)}  ${page} left out: ${missing.join(", ")} not installed`);
    else await follow(page, text);
  }
  if (!args.includes("--no-tests")) await test();
  console.log(`${seconds(startedMs)}  in all`);

  async function follow(page, text) {
    const pageMs = performance.now();
    const sinceCloneMs = pageMs - startedMs;
    const reader = new Reader({ clone, patienceMs: PATIENCE_MS });
    try {
      await reader.follow(page, text);
    } finally {
      await reader.close();
      // A page begins with a server that is new.
      rmSync(join(clone, "tenure-data"), { recursive: true, force: true });
    }
    console.log(`${seconds(pageMs)}  ${page}`);
    for (const { name, afterMs } of reader.milestones) {
      const [onPage, inAll] = [afterMs, sinceCloneMs + afterMs].map((ms) => (ms / 1000).toFixed(1));
      console.log(`${" ".repeat(11)}${name}: ${onPage} s after the page began, ${inAll} s after git clone`);
    }
  }

  async function test() {
    const testMs = performance.now();
    const child = spawn("npm", ["test"], { cwd: clone, stdio: ["ignore", "pipe", "inherit"] });
    let last = "";
    child.stdout.setEncoding("utf8").on("data", (output) => (last = `${last}${output}`.slice(-10_000)));
    const [code] = await once(child, "close");
    console.log(`${seconds(testMs)}  npm test: ${last.trimEnd().split("\n").at(-1)}`);
    if (code !== 0) throw new ScriptError(`npm test failed:\n${last}`, code);
  }
});

function commitOf(clone) {
  const log = ["-C", clone, "log", "-1", "--format=%h %s"];
  return execFileSync("git", log, { encoding: "utf8" }).trim();
}
