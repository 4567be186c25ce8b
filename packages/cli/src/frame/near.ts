/** Suggestions for a mistyped name. */

/** Longer names than this are compared by their beginning only, so that the comparison stays cheap. */
const MAX_COMPARED = 64;

/** The names that a mistyped one may have meant, nearest first. */
export function nearest(typed: string, names: Iterable<string>, most = 3): string[] {
  const found: { name: string; distance: number }[] = [];
  const limit = Math.max(1, Math.floor(typed.length / 3));
  for (const name of names) {
    if (name === typed) continue;
    const isLonger = typed.length > 2 && name.startsWith(typed);
    const distance = isLonger ? 1 : editDistance(typed, name, limit);
    if (distance <= limit) found.push({ name, distance });
  }
  return found
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

/** `; did you mean billing?`, or the other text if there is no such name. */
export function suggestion(near: readonly string[], otherwise: string): string {
  if (near.length === 0) return otherwise;
  const last = near.at(-1) ?? "";
  const before = near.slice(0, -1).join(", ");
  return `did you mean ${before === "" ? last : `${before} or ${last}`}?`;
}

/** Insertions, deletions, replacements and swaps of two neighbours; above the limit any larger number. */
function editDistance(one: string, other: string, limit: number): number {
  const [a, b] = [one.slice(0, MAX_COMPARED), other.slice(0, MAX_COMPARED)];
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let least = Math.min(
        (above[column] ?? 0) + 1,
        (line[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        least = Math.min(least, (before[column - 2] ?? 0) + 1);
      line.push(least);
    }
    [before, above] = [above, line];
  }
  return above[b.length] ?? 0;
}
