/** `run.mjs FILE args…`: set-up, then FILE in this very process, so that signals and exit codes are its own. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { main, root, ScriptError, setUp } from "./setup.mjs";

await main(async () => {
  const [file, ...args] = process.argv.slice(2);
  if (file === undefined) throw new ScriptError("run.mjs FILE [ARGUMENT…]", 2);
  await setUp();
  const path = resolve(root, file);
  process.argv = [process.execPath, path, ...args];
  await import(pathToFileURL(path).href);
  return process.exitCode;
});
