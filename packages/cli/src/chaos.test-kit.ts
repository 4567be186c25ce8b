export const isChaos: boolean = process.env["TENURE_CHAOS"] === "1";

/** `npm run chaos` runs all of it; `npm test` runs a part. */
export function rounds(inTests: number, inChaos: number): number {
  return isChaos ? inChaos : inTests;
}
