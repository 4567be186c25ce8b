import { onAbort } from "@tenure/core/internal";
import { spawn } from "node:child_process";
import type { HealthChecker } from "@tenure/client";

/** Why a health command failed. */
export class HealthCommandError extends Error {
  /** `null`: it was ended by a signal, or did not exit in time. */
  readonly exitCode: number | null;
  readonly lastLine: string | null;

  constructor(problem: string, exitCode: number | null = null, lastLine: string | null = null) {
    super(lastLine === null ? problem : `${problem} (${lastLine})`);
    this.exitCode = exitCode;
    this.lastLine = lastLine;
  }
}

/** The end of stderr that is kept for its last line. */
const MAX_STDERR = 4096;
const MAX_LINE = 200;
/** A process that the command left behind may keep stderr open. */
const STDERR_END_MS = 100;

/** Healthy while the shell command exits with 0 in time. If it fails, the checker rejects with `HealthCommandError`. */
export function healthCommand(text: string): HealthChecker {
  return (signal) =>
    new Promise((resolve, reject) => {
      const child = spawn("/bin/sh", ["-c", text], { stdio: ["ignore", "ignore", "pipe"], detached: true });
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
        stderr = (stderr + chunk).slice(-MAX_STDERR);
      });
      const kill = () => {
        try {
          process.kill(-(child.pid as number), "SIGKILL");
        } catch {
          // The process has ended meanwhile.
        }
      };
      const stopListening = onAbort(signal, kill);
      child.on("error", (error) => reject(new HealthCommandError(error.message)));
      child.on("exit", (code, endedBy) => {
        stopListening();
        if (code === 0) resolve(true);
        const problem = code === null ? `ended by ${endedBy}` : `exit code ${code}`;
        const fail = (): void => reject(new HealthCommandError(problem, code, lastLineOf(stderr)));
        child.once("close", fail);
        setTimeout(fail, STDERR_END_MS).unref();
      });
    });
}

function lastLineOf(text: string): string | null {
  const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
  return line === "" ? null : line.slice(0, MAX_LINE);
}
