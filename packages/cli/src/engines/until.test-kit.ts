import { sleep, systemClock } from "@tenure/core";

const LOOK_MS = 20;

/** Looks again and again until it is so, or the time is over; says which. */
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
