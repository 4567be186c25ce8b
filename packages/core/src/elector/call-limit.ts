import type { GroupPolicy } from "../policy.js";

/** The shortest and the longest time limit of one call to the store. */
const MIN_CALL_MS = 25;
export const MAX_CALL_MS = 1000;

/**
 * The time limit of a call to the store on behalf of leases with these ttls: a quarter of the shortest. Every later
 * call on the same key waits for this one, and a renewal must leave time for another try. Without a ttl no lease waits
 * for the call.
 */
export function callLimitMs(...ttlsMs: readonly (number | undefined)[]): number {
  let limitMs = MAX_CALL_MS;
  for (const ttlMs of ttlsMs) {
    if (ttlMs !== undefined) limitMs = Math.min(limitMs, Math.floor(ttlMs / 4));
  }
  return Math.max(limitMs, MIN_CALL_MS);
}

/** The time limit of a call that no lease waits for, made for a request that has `leftMs` left. */
export function readLimitMs(leftMs: number): number {
  return Math.max(Math.min(leftMs, MAX_CALL_MS), MIN_CALL_MS);
}

/**
 * The time limit of a renewal in a list: a group that is slow must not hold back the rest for long. No lease depends on a ttl
 * that the policy refuses, and the refusal takes a read, which may need longer than a quarter of such a ttl.
 */
export function listedLimitMs(ttlMs: number, { minTtlMs }: GroupPolicy): number {
  return 2 * (ttlMs < minTtlMs ? MAX_CALL_MS : callLimitMs(ttlMs));
}
