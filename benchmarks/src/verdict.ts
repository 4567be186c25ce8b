/** One line on a target; a missed one is no failure. */
export function verdict(what: string, value: string, target: string, isMet: boolean): string {
  return `${what}: ${value}, target ${target}: ${isMet ? "met" : "MISSED"}`;
}
