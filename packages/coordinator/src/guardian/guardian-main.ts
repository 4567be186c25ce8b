/**
 * The guardian: a separate process between a leader and a command, so that the command dies with the leadership even if
 * the leader is stopped, killed or hangs. It leads a process group, in which it starts the command. It kills the whole
 * group, including itself, at the last time it was sent, and when its owner is gone.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { systemClock } from "@tenure/core";
import { untilMs } from "./machine-time.js";
import type { FromGuardian, KillTime, ToGuardian } from "./messages.js";
import { signalGroup } from "./process-group.js";

/** Timers stand still while the machine is suspended, so the clocks are checked this often. */
const LOOK_MS = 250;
/** Signals that cannot be caught, or not by a program that is to continue. */
const OWN: ReadonlySet<string> = new Set([
  ...["SIGKILL", "SIGSTOP", "SIGCHLD"],
  ...["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGIOT", "SIGSYS"],
]);

let isRunning = false;
/** The signal that it was sent before the command ran. */
let early: NodeJS.Signals | null = null;
let killTime: KillTime;
let cancelTimer = (): void => {};

// Signals to the group are meant for the command.
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
  // Processes that the command left behind are killed by the owner, which must get this message first, or at the end of
  // the lease.
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

/** Written at once, unless the pipe is full, so that the last message arrives. */
function tell(message: FromGuardian): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
