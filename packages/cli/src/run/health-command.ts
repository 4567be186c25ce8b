import { onAbort } from "@tenure/core/internal";
import { spawn } from "node:child_process";
import type { HealthChecker } from "@tenure/client";

/** Healthy while the shell command ends with 0 in time. */
export function healthCommand(text: string): HealthChecker {
  return (signal) =>
    new Promise((resolve) => {
      const child = spawn("/bin/sh", ["-c", text], { stdio: "ignore", detached: true });
      const kill = () => {
        try {
          process.kill(-(child.pid as number), "SIGKILL");
        } catch {
          // The process has ended meanwhile.
        }
      };
      const stopListening = onAbort(signal, kill);
      child.on("error", () => resolve(false));
      child.on("exit", (code) => {
        stopListening();
        resolve(code === 0);
      });
    });
}
