import { sleep, systemClock } from "@tenure/core";

const LOOK_MS = 20;

/** Polls until `isSo` is true or the time is over; returns whether it became true. */
export async function comesTrue(limitMs: number, isSo: () => Promise<boolean>): Promise<boolean> {
  const giveUpAtMs = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() >= giveUpAtMs) return false;
    await sleep(systemClock, LOOK_MS);
  }
  return true;
}

export async function until(limitMs: number, what: string, isSo: () => Promise<boolean>): Promise<void> {
  if (!(await comesTrue(limitMs, isSo))) throw new Error(`not within ${limitMs} ms: ${what}`);
}
