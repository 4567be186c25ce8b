/**
 * The guardian: a process of its own between a leader and a command, so that the command dies with the leadership
 * even if the leader is stopped, killed or hangs. It leads a process group, into which the command is born, and kills all of
 * it, itself too, when the time it was given last has come, and when its owner is gone.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { systemClock } from "@tenure/core";
import { untilMs } from "./machine-time.js";
import type { FromGuardian, KillTime, ToGuardian } from "./messages.js";
import { signalGroup } from "./process-group.js";

/** Timers stand still while the machine is suspended; so the clocks are looked at this often. */
const LOOK_MS = 250;
/** Not to be caught, or not by a program that is to go on. */
const OWN: ReadonlySet<string> = new Set([
  ...["SIGKILL", "SIGSTOP", "SIGCHLD"],
  ...["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGIOT", "SIGSYS"],
]);

let isRunning = false;
/** What it was sent before it ran. */
let early: NodeJS.Signals | null = null;
let killTime: KillTime;
let cancelTimer = (): void => {};

// Signals to the group are for the command.
for (const signal of Object.keys(constants.signals)) if (!OWN.has(signal)) process.on(signal, () => {});

process.on("message", (message: ToGuardian) => {
  if (message.kind === "run") run(message);
  else if (message.kind === "kill-at") killAt(message.killAt);
  else if (isRunning) signalGroup(process.pid, message.signal);
  else early = message.signal;
});

process.on("disconnect", kill);

function run({ command, killAt: time }: Extract<ToGuardian, { kind: "run" }>): void {
  const { file, args, env, cwd } = command;
  killAt(time);
  const child = spawn(file, args, {
    stdio: ["inherit", "inherit", "inherit"],
    env: { ...env },
    ...(cwd === null ? {} : { cwd }),
  });
  child.on("error", (error) => tell({ kind: "cannot-run", problem: error.message }));
  child.on("spawn", () => {
    isRunning = true;
    tell({ kind: "running" });
    if (early !== null) signalGroup(process.pid, early);
  });
  // What it has left behind is for the owner to kill, who must hear of this first; or for the end of the lease.
  child.on("exit", (code, signal) => tell({ kind: "ended", end: { code, signal, byLease: false } }));
}

function killAt(time: KillTime): void {
  killTime = time;
  cancelTimer();
  const leftMs = untilMs(time);
  if (leftMs > 0) cancelTimer = systemClock.after(Math.min(leftMs, LOOK_MS), () => killAt(killTime));
  else {
    tell({ kind: "ended", end: { code: null, signal: "SIGKILL", byLease: true } });
    kill();
  }
}

function kill(): void {
  signalGroup(process.pid, "SIGKILL");
}

/** Written at once, unless the pipe is full: what is said last is heard. */
function tell(message: FromGuardian): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
