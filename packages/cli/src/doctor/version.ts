/** `3.4.23`, `v2.10.1-beta`, as numbers to compare. */
export function versionOf(text: string): readonly number[] {
  return (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? "0").split(".").map(Number);
}

export function isBefore(version: string, other: string): boolean {
  const [a, b] = [versionOf(version), versionOf(other)];
  for (let place = 0; place < Math.max(a.length, b.length); place++) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
