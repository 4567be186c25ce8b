export const isChaos: boolean = process.env["TENURE_CHAOS"] === "1";

/** `npm run chaos` goes to the end; `npm test` goes part of the way. */
export function rounds(inTests: number, inChaos: number): number {
  return isChaos ? inChaos : inTests;
}
