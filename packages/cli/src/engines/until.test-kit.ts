import { sleep, systemClock } from "@tenure/core";
import { waitLimitMs } from "@tenure/engines";

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

/** Waits for what must happen. The limit is one of `npm run chaos`; in `npm test` it is a guard against hanging only. */
export async function until(limitMs: number, what: string, isSo: () => Promise<boolean>): Promise<void> {
  if (!(await comesTrue(waitLimitMs(limitMs), isSo))) throw new Error(`not within ${limitMs} ms: ${what}`);
}
