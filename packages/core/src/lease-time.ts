/**
 * How long a lease lasts on each side.
 *
 * `driftRatio` (ρ) bounds the rate error of every clock that takes part. A server keeps a lease for ttl·(1+ρ) on its
 * own clock, which is at least ttl of true time. A leader uses ttl·(1−ρ) on its clock, which is at most ttl of true
 * time. Each side pays once; observers add nothing. Both results are rounded to the safe side.
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
