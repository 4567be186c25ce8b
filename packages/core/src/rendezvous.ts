/**
 * Rendezvous hashing: each key gives each member a score, and the member with the highest score takes the key. All who know the
 * same members choose the same member without asking each other. When a member joins or leaves, only its own keys move.
 */

/** How well `member` suits `key`. Of two members, one with twice the `weight` takes twice as many keys. */
export function rendezvousScore(key: string, member: string, weight = 1): number {
  const uniform = (hash32(`${member}\n${key}`) + 0.5) / 2 ** 32;
  return -weight / Math.log(uniform);
}

/** The one of `members` that takes `key`; `null` if there are no members. */
export function rendezvous(key: string, members: readonly string[]): string | null {
  let best: string | null = null;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const member of members) {
    const score = rendezvousScore(key, member);
    if (score > bestScore || (score === bestScore && member < (best ?? ""))) {
      best = member;
      bestScore = score;
    }
  }
  return best;
}

/** FNV-1a with a final mix: without the mix, names that differ only in their last character get similar hashes. */
export function hash32(text: string): number {
  let bits = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
