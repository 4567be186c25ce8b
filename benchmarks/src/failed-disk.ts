/**
 * What a disk that takes no more writes costs the process that has the embedded store open: attempts to open the store
 * again, CPU time, and the longest turn of the event loop. Beside it, in the same process and with the same calls, the same
 * time on a sound disk; the ratio is what counts. CPU time and not wall time: the machine may be busy.
 *
 * The disk fails by RLIMIT_FSIZE, which `prlimit` of util-linux sets on a running process.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Period } from "./failed-disk-child.js";
import { type Benchmark, table } from "./report.js";

const ENTRIES = 60_000;

export const failedDisk: Benchmark = {
  name: "failed-disk",
  about: `CPU time and longest turn while the disk of an embedded store with ${ENTRIES} entries fails`,
  async run() {
    if (!hasPrlimit()) return console.log("prlimit is not installed: passed by");
    const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
    try {
      const [sound, failed] = inChild(join(directory, "store"));
      const row = (name: string, { calls, refused, attempts, cpuMs, longestTurnMs }: Period) => [
        name,
        String(calls),
        String(refused),
        String(attempts),
        cpuMs.toFixed(0),
        longestTurnMs.toFixed(1),
      ];
      const head = ["disk", "calls", "refused", "attempts", "CPU, ms", "longest turn, CPU ms"];
      console.log(table(head, [row("sound", sound), row("failed", failed)]));
      const ratio = (of: "cpuMs" | "longestTurnMs") => `${(failed[of] / sound[of]).toFixed(1)}×`;
      console.log(`failed : sound, CPU ${ratio("cpuMs")}, longest turn ${ratio("longestTurnMs")}`);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

function hasPrlimit(): boolean {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function inChild(directory: string): readonly [sound: Period, failed: Period] {
  const script = fileURLToPath(new URL("failed-disk-child.js", import.meta.url));
  const argv = [process.execPath, script, directory, String(ENTRIES)];
  // The signal that comes with the limit must not end the process. LMDB reports each failed write on stderr.
  const child = spawnSync("sh", ["-c", 'trap "" XFSZ; exec "$@" 2>/dev/null', "sh", ...argv], {
    encoding: "utf8",
  });
  if (child.status !== 0) throw new Error(`the measurement ended with ${child.status}`);
  return JSON.parse(child.stdout) as [Period, Period];
}
