/**
 * `npm run test:node -- 22 24 [vitest arguments]`: set-up and tests with other versions of Node, one after the other. Each version
 * comes from the npm registry (the packages that `node` installs) and is kept in `.cache/node`: tests that run programs as another user
 * need a place that every user can read, as the repository is.
 */
import { execFile } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { main, root, run, ScriptError } from "./setup.mjs";

/** Versions come first: `22`, `24.1`, `24.1.0`. Everything else is passed on to vitest. */
export function parseArguments(args) {
  const isOther = args.findIndex((arg) => !/^\d+(?:\.\d+){0,2}$/.test(arg));
  const count = isOther < 0 ? args.length : isOther;
  if (count === 0) throw new ScriptError("npm run test:node -- VERSION… [VITEST ARGUMENT…]", 2);
  return { versions: args.slice(0, count), rest: args.slice(count) };
}

/** The newest release of a version, with its own package manager left out; resolves to the file of its program. */
export async function installNode(version, cache = join(root, ".cache/node")) {
  const directory = join(cache, version);
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  await mkdir(directory, { recursive: true });
  // npm installs into the next directory above that has a manifest.
  await writeFile(join(directory, "package.json"), JSON.stringify({ private: true }));
  const args = ["install", `${name}@${version}`, "--no-audit", "--no-fund", "--loglevel", "error"];
  await promisify(execFile)("npm", args, { cwd: directory });
  const programs = join(directory, "node_modules", name, "bin");
  const [program] = await readdir(programs);
  return join(programs, program);
}

/** Programs that the tests start by name find the same Node. */
function testWith(program, args) {
  const path = `${dirname(program)}${delimiter}${process.env.PATH ?? ""}`;
  return run(program, [join(root, "scripts/test.mjs"), ...args], { env: { PATH: path } });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    const { versions, rest } = parseArguments(process.argv.slice(2));
    for (const version of versions) {
      const program = await installNode(version);
      const { stdout } = await promisify(execFile)(program, ["--version"]);
      console.log(`Node ${stdout.trim()}:`);
      const code = await testWith(program, rest);
      if (code !== 0) throw new ScriptError(`The tests failed with Node ${stdout.trim()}, see above.`, code);
    }
  });
}
