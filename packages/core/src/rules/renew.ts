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

/** Most renewals write the record unchanged. Returning the same object lets the engine skip encoding and comparing it. */
function isSame(next: ElectionRecord, before: ElectionRecord): boolean {
  return (
    next.holdMs === before.holdMs &&
    next.holder === before.holder &&
    before.bans.length === 0 &&
    before.transfer === null &&
    before.pause === null &&
    before.delayMs === 0
  );
}

/** An expired lease that was not ended may still be renewed, because no other node has won. */
export function decideRenew(
  seen: Observation,
  claim: Claim,
  ttlMs: number,
  driftRatio: number,
): RenewDecision {
  const now = carryOver(seen.record, seen.ageMs);
  const { minTtlMs, maxTtlMs } = policyOf(now);
  if (now.holder === null || !claims(now, claim) || now.deposed !== null)
    return { kind: "not-leader", holder: standingHolder(now) };
  if (ttlMs < minTtlMs || ttlMs > maxTtlMs) return { kind: "invalid-ttl", minTtlMs, maxTtlMs };
  const holder = now.holder.ttlMs === ttlMs ? now.holder : { ...now.holder, ttlMs };
  // Nothing shortens a lease.
  const next = { ...now, holder, holdMs: Math.max(holdMs(ttlMs, driftRatio), now.holdMs) };
  return { kind: "renew", next: isSame(next, seen.record) ? seen.record : next, events: NO_EVENTS };
}
