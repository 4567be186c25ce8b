/** `npm run chaos` goes to the end, and holds to the bound; `npm test` goes part of the way. */
export function rounds(inTests: number, inChaos: number): number {
  return process.env["TENURE_CHAOS"] === "1" ? inChaos : inTests;
}
