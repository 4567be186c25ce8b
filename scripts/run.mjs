/** `run.mjs FILE args…`: runs the set-up, then FILE in this process, so that FILE receives signals and sets the exit code. */
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
