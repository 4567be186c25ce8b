/** The `tenure` command as a process. */
import { EXIT, READER_GONE, Shell } from "./frame/shell.js";
import { run } from "./program.js";

const ending = new AbortController();
// `tenure serve` handles signals itself.
if (process.argv[2] !== "serve") {
  // A second signal ends the process at once, in case the command hangs.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (ending.signal.aborted) process.exit(EXIT.failed);
      ending.abort(new Error("interrupted"));
    });
  }
}
// The reader of the output may close it (`tenure watch | head -1`), or the terminal is gone. The command then ends in the normal
// way, so that it still cleans up.
process.stdout.on("error", () => ending.abort(READER_GONE));
process.stderr.on("error", () => ending.abort(READER_GONE));

const shell = new Shell({
  out: process.stdout,
  err: process.stderr,
  hasKeyboard: process.stdin.isTTY,
  env: process.env,
  signal: ending.signal,
});
await run(shell, process.argv.slice(2));
process.exitCode ??= shell.exitCode;
