/**
 * How long a lease lasts on each side.
 *
 * `driftRatio` (ρ) bounds the rate error of any clock taking part. A server lets a lease stand for ttl·(1+ρ) as its own
 * clock counts, so for at least ttl of true time; a leader uses ttl·(1−ρ) as its clock counts, so at most ttl of true
 * time. Each side pays once; observers add nothing. Rounding goes outwards.
 */
export const DEFAULT_DRIFT_RATIO = 0.01;

/** The server's side: what a grant, a confirmation or a renewal writes. */
export function holdMs(ttlMs: number, driftRatio: number): number {
  return Math.ceil(ttlMs * (1 + driftRatio));
}

/** The leader's side. */
export function leadMs(ttlMs: number, driftRatio: number): number {
  return Math.floor(ttlMs * (1 - driftRatio));
}
