/**
 * The directory in which a run of the tests makes its files, and what the run has left behind. Processes inherit the directory
 * as TMPDIR; by this mark they are found, where the system shows the environment of processes (Linux).
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

/** How long processes that were killed may take to end: a busy machine may need seconds. */
const END_MS = 15_000;
const POLL_MS = 100;

export function makeRunDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "tenure-test-"));
  // Some engines run as another user.
  chmodSync(directory, 0o755);
  return directory;
}

/** Removes the directory, ends the processes that still run, and resolves with one line for each file and each process. */
export async function removeRunDirectory(directory, endMs = END_MS) {
  const deadlineMs = performance.now() + endMs;
  let processes = processesOf(directory);
  while (processes.length > 0 && performance.now() < deadlineMs) {
    await setTimeout(POLL_MS);
    processes = processesOf(directory);
  }
  for (const { pid } of processes) tryKill(pid);
  const files = readdirSync(directory).map((name) => `file ${join(directory, name)}`);
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  return [...processes.map(({ pid, command }) => `process ${pid}: ${command}`), ...files];
}

/** Every process whose environment names the directory as TMPDIR; none on a system that does not show environments. */
export function processesOf(directory) {
  const mark = `TMPDIR=${directory}`;
  return names("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readIfAny(`/proc/${pid}/environ`).split("\0").includes(mark))
    .map((pid) => ({
      pid: Number(pid),
      command: readIfAny(`/proc/${pid}/cmdline`).split("\0").join(" ").trim(),
    }));
}

function names(directory) {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

/** Empty for a process that has ended, or that belongs to another user. */
function readIfAny(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(error.code)) return "";
    throw error;
  }
}

function tryKill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}
