export const isChaos: boolean = process.env["TENURE_CHAOS"] === "1";

/** `npm run chaos` runs all of it; `npm test` runs a part. */
export function rounds(inTests: number, inChaos: number): number {
  return isChaos ? inChaos : inTests;
}

/** A bound of time, which holds on a quiet machine: `npm run chaos` checks it, `npm test` does not. */
export function boundMs(inChaosMs: number): number {
  return isChaos ? inChaosMs : Number.POSITIVE_INFINITY;
}
