/** `npm run chaos` runs the tests in full, with the bounds of time that hold on a quiet machine; `npm test` runs a part. */
export const isChaos: boolean = process.env["TENURE_CHAOS"] === "1";

export function rounds(inTests: number, inChaos: number): number {
  return isChaos ? inChaos : inTests;
}

/** A bound of time, which holds on a quiet machine: `npm run chaos` checks it, `npm test` does not. */
export function boundMs(inChaosMs: number): number {
  return isChaos ? inChaosMs : Number.POSITIVE_INFINITY;
}

/** The limit of a wait for what must happen: in `npm test` a guard against hanging only, far above what a busy machine takes. */
export function waitLimitMs(inChaosMs: number): number {
  return isChaos ? inChaosMs : Math.max(inChaosMs, GUARD_MS);
}

/** Less than the time limit of a test, so that the message names what was waited for. */
const GUARD_MS = 240_000;
