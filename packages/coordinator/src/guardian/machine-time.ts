import { uptime } from "node:os";
import type { KillTime } from "./messages.js";

/** The same in every process of this machine, unlike `performance.now()`, which counts from the start of each process. */
function machineTime(): KillTime {
  return { monotonicMs: Number(process.hrtime.bigint()) / 1e6, bootMs: uptime() * 1000 };
}

/** The time `leftMs` from now. */
export function machineTimeIn(leftMs: number): KillTime {
  const { monotonicMs, bootMs } = machineTime();
  return { monotonicMs: monotonicMs + leftMs, bootMs: bootMs + leftMs };
}

/** 0 or less when the time has come, on either clock. */
export function untilMs(time: KillTime): number {
  const now = machineTime();
  return Math.min(time.monotonicMs - now.monotonicMs, time.bootMs - now.bootMs);
}
