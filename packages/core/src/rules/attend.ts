/**
 * What a server does for a group unasked: end a lease that is over, give a vacancy to a waiting candidate, let a
 * leader know that its successor waits. Asked whenever the record has changed, a candidate has come, or a duration
 * has run out.
 */
import type { ElectionRecord, Observation } from "../record.js";
import { isHeldBy, policyOf } from "../record.js";
import type { Candidate } from "./campaign.js";
import { carryOver } from "./carry-over.js";
import { isAllowed, obstacleFor } from "./eligibility.js";
import { type Change, endTerm, type Stamp } from "./terms.js";

/** How long a leader has to yield to a successor, unless the operator says otherwise. */
export const YIELD_MS = 10_000;

export interface Waiting {
  readonly candidate: Candidate;
}

export type AttendDecision<W extends Waiting> =
  /** Campaign on behalf of this one: it can win now, or is the holder already. */
  | { readonly kind: "campaign"; readonly waiter: W }
  | ({ readonly kind: "write" } & Change)
  /** Nothing to do before `lookAgainMs`; `null`: before something changes. */
  | { readonly kind: "rest"; readonly lookAgainMs: number | null };

/** `waiters` in order of arrival at this server. */
export function attend<W extends Waiting>(
  seen: Observation,
  waiters: readonly W[],
  stamp: Stamp,
): AttendDecision<W> {
  const now = carryOver(seen.record, seen.ageMs);
  if (now.holder !== null && now.holdMs > 0) return attendLed(now, waiters);
  const ending = now.holder === null ? null : endTerm(now, now.holder, "expired", stamp);
  const vacant = ending?.next ?? now;
  const waiter = vacant.delayMs > 0 ? null : bestWaiter(vacant, waiters);
  if (waiter !== null) return { kind: "campaign", waiter };
  if (ending !== null) return { kind: "write", ...ending };
  return {
    kind: "rest",
    lookAgainMs: soonest(waiters.map((each) => obstacleFor(now, each.candidate.nodeId)?.leftMs)),
  };
}

/** The one to win this vacancy: by strategy, among those whom no mark holds back. */
export function bestWaiter<W extends Waiting>(vacant: ElectionRecord, waiters: readonly W[]): W | null {
  const free = waiters.filter(
    ({ candidate: { nodeId } }) => isAllowed(vacant, nodeId) && obstacleFor(vacant, nodeId) === null,
  );
  return policyOf(vacant).strategy === "first" ? (free[0] ?? null) : highestPriority(free);
}

function attendLed<W extends Waiting>(now: ElectionRecord, waiters: readonly W[]): AttendDecision<W> {
  const { transfer } = now;
  if (now.deposed === null) {
    // Its grant was written, and the answer lost: only a write of its own gives it the lease.
    const holder = waiters.find((each) => isHeldBy(now, each.candidate.nodeId, each.candidate.instanceId));
    if (holder !== undefined) return { kind: "campaign", waiter: holder };
    if (
      transfer !== null &&
      !transfer.ready &&
      waiters.some((each) => each.candidate.nodeId === transfer.toNodeId)
    ) {
      return { kind: "write", next: { ...now, transfer: { ...transfer, ready: true } }, events: [] };
    }
    const challenger = transfer === null ? preempting(now, waiters) : null;
    if (challenger !== null) {
      const mark = { toNodeId: challenger.candidate.nodeId, leftMs: YIELD_MS, ready: true, by: null };
      return { kind: "write", next: { ...now, transfer: mark }, events: [] };
    }
  }
  return { kind: "rest", lookAgainMs: soonest([now.holdMs, transfer?.leftMs]) };
}

function preempting<W extends Waiting>(now: ElectionRecord, waiters: readonly W[]): W | null {
  const { holder } = now;
  if (!policyOf(now).preempt || holder === null || now.pause !== null) return null;
  return highestPriority(
    waiters.filter(
      ({ candidate }) =>
        candidate.priority > holder.priority &&
        isAllowed(now, candidate.nodeId) &&
        now.bans.every((ban) => ban.nodeId !== candidate.nodeId),
    ),
  );
}

/** The first to come among equals. */
function highestPriority<W extends Waiting>(waiters: readonly W[]): W | null {
  let best: W | null = null;
  for (const each of waiters) {
    if (best === null || each.candidate.priority > best.candidate.priority) best = each;
  }
  return best;
}

function soonest(durationsMs: readonly (number | null | undefined)[]): number | null {
  let least: number | null = null;
  for (const each of durationsMs) {
    if (typeof each === "number" && (least === null || each < least)) least = each;
  }
  return least;
}
