import { createHash } from "node:crypto";

/**
 * The one of `members` that takes `key`: everybody who knows the same members chooses the same one, and when a member comes
 * or goes only its own keys move.
 */
export function rendezvous(key: string, members: readonly string[]): string | null {
  let best: string | null = null;
  let bestWeight = -1n;
  for (const member of members) {
    const weight = createHash("sha256").update(`${member}\0${key}`).digest().readBigUInt64BE(0);
    if (weight > bestWeight || (weight === bestWeight && member < (best ?? ""))) {
      best = member;
      bestWeight = weight;
    }
  }
  return best;
}
