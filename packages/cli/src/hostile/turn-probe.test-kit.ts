/**
 * Loaded into the server's process before anything else (`node --import`). At SIGUSR2 it writes the longest turn of the event
 * loop since the last time into the file that MAX_TURN_FILE names, in milliseconds.
 */
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const file = process.env["MAX_TURN_FILE"] ?? "";
const delays = monitorEventLoopDelay({ resolution: 5 });
delays.enable();
process.on("SIGUSR2", () => {
  const longestMs = delays.max / 1e6;
  delays.reset();
  // Without a newline it is a part of a number.
  writeFileSync(file, `${longestMs}\n`);
});
