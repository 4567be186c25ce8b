/** Cuts a list into parts that each keep to both limits; an item that alone is too large is a part of its own. */
export function inParts<T>(
  items: readonly T[],
  limits: { readonly count: number; readonly bytes: number },
  bytesOf: (item: T) => number,
): T[][] {
  const parts: T[][] = [];
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = bytesOf(item);
    if (part.length > 0 && (part.length >= limits.count || bytes + more > limits.bytes)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += more;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
