/** From this version on a write is compared when it is written, not only when it is accepted. */
const COMPARES_LATE = [2, 9, 21] as const;

/**
 * Before 2.9.21 the leader of a replicated stream compares only as it accepts a write, with what it has written so far:
 * of several that are under way at once all win. Streams with one replica were never affected.
 *
 * Nothing that a client can add mends it. Message ids are looked at when a message is written, and one id per revision
 * does leave one winner; but a server that restarts goes through its log again without the ids of what was replaced,
 * takes what it had refused, and numbers everything after it differently from the others.
 */
export function comparesTooEarly(version: string): boolean {
  const numbers = version.split(/[.-]/, 3).map(Number);
  for (const [i, least] of COMPARES_LATE.entries()) {
    const number = numbers[i] ?? 0;
    if (number !== least) return !(number > least);
  }
  return false;
}
