import { uptime } from "node:os";
import type { KillTime } from "./messages.js";

/** The same in every process of this machine, unlike `performance.now()`, which counts from each one's start. */
export function machineTime(): KillTime {
  return { monotonicMs: Number(process.hrtime.bigint()) / 1e6, bootMs: uptime() * 1000 };
}

/** So long from now. */
export function machineTimeIn(leftMs: number): KillTime {
  const { monotonicMs, bootMs } = machineTime();
  return { monotonicMs: monotonicMs + leftMs, bootMs: bootMs + leftMs };
}

/** 0 or less when it has come, on either clock. */
export function untilMs(time: KillTime): number {
  const now = machineTime();
  return Math.min(time.monotonicMs - now.monotonicMs, time.bootMs - now.bootMs);
}
