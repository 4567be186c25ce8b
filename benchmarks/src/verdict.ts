/** One line on a target. */
export function verdict(what: string, value: string, target: string, isMet: boolean): string {
  return `${what}: ${value}, target ${target}: ${isMet ? "met" : "MISSED"}`;
}
