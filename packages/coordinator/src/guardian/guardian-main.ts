/**
 * The guardian: a process of its own between a leader and a command, so that the command dies with the leadership
 * even if the leader is stopped, killed or hangs. It kills the command's process group when the time it was given last has
 * come, and when its owner is gone.
 */
import { spawn } from "node:child_process";
import { systemClock } from "@tenure/core";
import { untilMs } from "./machine-time.js";
import type { FromGuardian, KillTime, ToGuardian } from "./messages.js";
import { groupRuns, signalGroup } from "./process-group.js";

const GONE_POLL_MS = 2;
/** Timers stand still while the machine is suspended; so the clocks are looked at this often. */
const LOOK_MS = 250;

let groupId: number | null = null;
let byLease = false;
/** What it was sent before it ran. */
let early: NodeJS.Signals | null = null;
let cancelTimer = (): void => {};

// What the terminal sends is for the owner to answer.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) process.on(signal, () => {});

process.on("message", (message: ToGuardian) => {
  if (message.kind === "run") run(message);
  else if (message.kind === "kill-at") killAt(message.killAt);
  else if (groupId !== null) signalGroup(groupId, message.signal);
  else early = message.signal;
});

process.on("disconnect", () => {
  kill();
  process.exit(0);
});

function run({ command, killAt: time }: Extract<ToGuardian, { kind: "run" }>): void {
  const { file, args, env, cwd } = command;
  killAt(time);
  if (byLease) return tell({ kind: "ended", code: null, signal: "SIGKILL", byLease });
  const child = spawn(file, args, {
    stdio: ["inherit", "inherit", "inherit"],
    detached: true,
    env: { ...env },
    ...(cwd === null ? {} : { cwd }),
  });
  child.on("error", (error) => tell({ kind: "cannot-run", problem: error.message }));
  child.on("spawn", () => {
    groupId = child.pid ?? null;
    if (groupId !== null) tell({ kind: "running", pid: groupId });
    // The time may have come while it was started.
    if (byLease) kill();
    else if (early !== null && groupId !== null) signalGroup(groupId, early);
  });
  child.on("exit", (code, signal) => {
    // Whoever it has started and left behind must not outlive it.
    kill();
    whenGone(() => tell({ kind: "ended", code, signal, byLease }));
  });
}

let killTime: KillTime;

function killAt(time: KillTime): void {
  killTime = time;
  cancelTimer();
  const leftMs = untilMs(time);
  if (leftMs <= 0) {
    byLease = true;
    kill();
  } else cancelTimer = systemClock.after(Math.min(leftMs, LOOK_MS), () => killAt(killTime));
}

function kill(): void {
  if (groupId !== null) signalGroup(groupId, "SIGKILL");
}

function whenGone(then: () => void): void {
  if (groupId === null || !groupRuns(groupId)) then();
  else systemClock.after(GONE_POLL_MS, () => whenGone(then));
}

function tell(message: FromGuardian): void {
  process.send?.(message);
}
