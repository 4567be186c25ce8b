/** What happens when a leader gives its lease back. */
import { type Holder, type Observation, standingHolder } from "../record.js";
import { carryOver } from "./carry-over.js";
import { claims, type Claim } from "./claim.js";
import { type Change, endTerm, type Stamp } from "./terms.js";

export type ResignDecision =
  | ({ readonly kind: "resign" } & Change)
  /** The answer was lost and the leader resigned again. */
  | { readonly kind: "already-resigned" }
  | { readonly kind: "not-leader"; readonly holder: Holder | null };

/** A deposed leader may resign too, which reports that it has stopped. */
export function decideResign(seen: Observation, claim: Claim, stamp: Stamp): ResignDecision {
  const now = carryOver(seen.record, seen.ageMs);
  if (now.holder !== null && claims(now, claim)) {
    return {
      kind: "resign",
      ...endTerm(now, now.holder, now.transfer?.ready === true ? "transferred" : "resigned", stamp),
    };
  }
  const { ended } = now;
  const wasIt =
    ended !== null &&
    ended.term === claim.term &&
    ended.nodeId === claim.nodeId &&
    ended.reason !== "expired" &&
    (claim.instanceId === null || claim.instanceId === ended.instanceId);
  return wasIt ? { kind: "already-resigned" } : { kind: "not-leader", holder: standingHolder(now) };
}
