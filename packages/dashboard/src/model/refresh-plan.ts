/**
 * Renewals do not come over the watch, so the leases on the screen are read again and again. A page of groups is one
 * request for any number of neighbours: rows that are near each other share one.
 */

export interface PageRequest {
  /** The id before the first; `null`: from the start. */
  readonly after: string | null;
  readonly limit: number;
}

/** Ids between two wanted ones that are read along rather than asked past. */
const WIDEST_GAP = 40;

/** Places in `ids` to read, in order, as at most `most` pages; `turn` says where to begin when that is not enough. */
export function planRefresh(
  ids: readonly string[],
  places: readonly number[],
  most: number,
  turn = 0,
): readonly PageRequest[] {
  const runs: { first: number; last: number }[] = [];
  for (const place of places) {
    const run = runs.at(-1);
    if (run !== undefined && place - run.last <= WIDEST_GAP) run.last = place;
    else runs.push({ first: place, last: place });
  }
  const count = Math.min(most, runs.length);
  return Array.from({ length: count }, (_, i) => {
    const { first, last } = runs[(turn * most + i) % runs.length] as { first: number; last: number };
    return { after: first === 0 ? null : (ids[first - 1] ?? null), limit: last - first + 1 };
  });
}
