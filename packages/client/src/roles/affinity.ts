/**
 * How well a unit of roles suits a member, by chance, but the same wherever it is asked (rendezvous hashing): of those who may
 * take a unit, the one whom it suits best does. So all agree without asking each other, and when one comes or goes, only
 * what it has or gets changes its best.
 */
export function affinity(unit: string, nodeId: string, weight: number): number {
  const uniform = (hash(`${nodeId}\n${unit}`) + 0.5) / 2 ** 32;
  return -weight / Math.log(uniform);
}

/** FNV-1a, mixed at the end: names that differ in their last character alone must not end up near each other. */
export function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
