/** What happens when a node renews. */
import { holdMs } from "../lease-time.js";
import { type ElectionRecord, type Holder, type Observation, policyOf, standingHolder } from "../record.js";
import { carryOver } from "./carry-over.js";
import { claims, type Claim } from "./claim.js";
import type { Change } from "./terms.js";

export type RenewDecision =
  | ({ readonly kind: "renew" } & Change)
  | { readonly kind: "not-leader"; readonly holder: Holder | null }
  | { readonly kind: "invalid-ttl"; readonly minTtlMs: number; readonly maxTtlMs: number };

const NO_EVENTS: readonly never[] = Object.freeze([]);

/**
 * Whether a renewal writes the record as it is, which most do: the lease starts again with the same duration, and there is no
 * mark whose rest would have to be carried over. Returning the same object lets the engine skip encoding and comparing it.
 */
function isUnchanged(record: ElectionRecord, ttlMs: number, driftRatio: number): boolean {
  return (
    record.holder?.ttlMs === ttlMs &&
    record.holdMs === holdMs(ttlMs, driftRatio) &&
    record.bans.length === 0 &&
    record.transfer === null &&
    record.pause === null &&
    record.delayMs === 0
  );
}

/** An expired lease that was not ended may still be renewed, because no other node has won. */
export function decideRenew(
  seen: Observation,
  claim: Claim,
  ttlMs: number,
  driftRatio: number,
): RenewDecision {
  const { record } = seen;
  const { minTtlMs, maxTtlMs } = policyOf(record);
  if (record.holder === null || !claims(record, claim) || record.deposed !== null)
    return { kind: "not-leader", holder: standingHolder(record) };
  if (ttlMs < minTtlMs || ttlMs > maxTtlMs) return { kind: "invalid-ttl", minTtlMs, maxTtlMs };
  const next = isUnchanged(record, ttlMs, driftRatio)
    ? record
    : renewed(seen, record.holder, ttlMs, driftRatio);
  return { kind: "renew", next, events: NO_EVENTS };
}

function renewed(seen: Observation, before: Holder, ttlMs: number, driftRatio: number): ElectionRecord {
  const now = carryOver(seen.record, seen.ageMs);
  const holder = before.ttlMs === ttlMs ? before : { ...before, ttlMs };
  // Nothing shortens a lease.
  const next = { ...now, holder, holdMs: Math.max(holdMs(ttlMs, driftRatio), now.holdMs) };
  return next;
}
