/** What happens when a node campaigns. */
import type { HeldBack, Metadata } from "../elector.js";
import { holdMs } from "../lease-time.js";
import { type ElectionRecord, type Holder, isHeldBy, type Observation, policyOf } from "../record.js";
import { carryOver } from "./carry-over.js";
import { isAllowed, obstacleFor } from "./eligibility.js";
import { beginTerm, type Change, endExpired, type Stamp } from "./terms.js";

export interface Candidate {
  readonly nodeId: string;
  readonly instanceId: string | null;
  readonly ttlMs: number;
  readonly priority: number;
  readonly metadata: Metadata | null;
}

export type CampaignDecision =
  | ({ readonly kind: "elect" } & Change)
  /** The same instance campaigned again: same term, and the lease starts again. */
  | ({ readonly kind: "confirm" } & Change)
  /** The lease is over, but this candidate may not win now: write the vacancy, then decide again. */
  | ({ readonly kind: "expire" } & Change)
  /** `holder` is null where the group is vacant, or as good as, and held back. */
  | {
      readonly kind: "lose";
      readonly holder: Holder | null;
      readonly heldBack: HeldBack | null;
      /** Until the outcome may differ; `null`: until an operator acts. */
      readonly leftMs: number | null;
    }
  | { readonly kind: "not-allowed" }
  | { readonly kind: "invalid-ttl"; readonly minTtlMs: number; readonly maxTtlMs: number };

export function decideCampaign(
  seen: Observation,
  candidate: Candidate,
  driftRatio: number,
  stamp: Stamp,
): CampaignDecision {
  const now = carryOver(seen.record, seen.ageMs);
  const { minTtlMs, maxTtlMs } = policyOf(now);
  if (!isAllowed(now, candidate.nodeId)) return { kind: "not-allowed" };
  if (candidate.ttlMs < minTtlMs || candidate.ttlMs > maxTtlMs)
    return { kind: "invalid-ttl", minTtlMs, maxTtlMs };

  if (isHeldBy(now, candidate.nodeId, candidate.instanceId) && now.deposed === null) {
    return { kind: "confirm", next: confirmed(now, candidate, driftRatio), events: [] };
  }
  if (now.holder !== null && now.holdMs > 0) {
    return now.deposed === null
      ? { kind: "lose", holder: now.holder, heldBack: null, leftMs: now.holdMs }
      : { kind: "lose", holder: null, heldBack: "deposed", leftMs: now.holdMs };
  }

  const ending = endExpired(seen, now, stamp);
  const vacant = ending?.next ?? now;
  const obstacle = obstacleFor(vacant, candidate.nodeId);
  if (obstacle !== null) {
    return ending === null ? { kind: "lose", holder: null, ...obstacle } : { kind: "expire", ...ending };
  }

  const begun = beginTerm(vacant, candidate, holdMs(candidate.ttlMs, driftRatio), stamp);
  return { kind: "elect", next: begun.next, events: [...(ending?.events ?? []), ...begun.events] };
}

/** Nothing shortens a lease, not even its own holder asking for less. */
function confirmed(now: ElectionRecord, candidate: Candidate, driftRatio: number): ElectionRecord {
  return { ...now, holder: candidate, holdMs: Math.max(holdMs(candidate.ttlMs, driftRatio), now.holdMs) };
}
