/**
 * What a server does for a group without a request: it ends an expired lease, gives a vacancy to a waiting candidate,
 * and marks that a leader should yield to a waiting successor. Called whenever the record has changed, a candidate has
 * arrived, or a duration has ended.
 *
 * Readiness (warm standby). A candidate is *ready* when it can work as soon as it leads, and *cold* while it still
 * prepares.
 * Readiness is a property of the campaign that waits, never of the record. Four invariants follow:
 * 1. It orders the queue: a ready campaign ranks before a cold one, whatever their priorities. Among equals in readiness
 *    the strategy decides, then arrival. A cold leader holds the group without working; a higher priority is worth less.
 * 2. It never refuses a win. A vacancy goes to the best ready campaign that waits here, else to the best cold one.
 * 3. No leader is asked to yield to a cold successor: a cold challenger does not preempt, and the mark of a transfer
 *    becomes ready only for a ready successor, unless the operator has allowed a cold one.
 * 4. A successor whose last ready campaign has left, though a cold one stays, has left.
 */
import type { GroupPolicy } from "../policy.js";
import {
  type ElectionRecord,
  type Holder,
  type Observation,
  policyOf,
  type TransferMark,
} from "../record.js";
import type { Candidate } from "./campaign.js";
import { carryOver, leftOf } from "./carry-over.js";
import { isAllowed, obstacleFor } from "./eligibility.js";
import { type Change, endExpired, type Stamp } from "./terms.js";

/** How long a leader has to yield to a successor, unless the operator says otherwise. */
export const YIELD_MS = 10_000;

/** A campaign that waits at this server. */
export interface WaitingCampaign {
  readonly candidate: Candidate;
  /** Rises with each arrival at this server. */
  readonly order: number;
  /** False: it is cold, which means that it still prepares. */
  readonly ready: boolean;
}

/** The campaigns that wait at this server and may be elected, as the rules ask for them. */
export interface Waiters<W extends WaitingCampaign> {
  readonly size: number;
  /** The successor of a transfer that waited at this server, as the mark demands, and has left it; `null`: there is none. */
  readonly departed: string | null;
  /** Those of one node, in order of arrival. */
  of(nodeId: string): readonly W[];
  /** By strategy, the first of those whose node may win. */
  first(strategy: GroupPolicy["strategy"], mayWin: (nodeId: string) => boolean): W | null;
}

export type UpkeepDecision<W extends WaitingCampaign> =
  /** Campaign on behalf of this one: it can win now, or is the holder already. */
  | { readonly kind: "campaign"; readonly waiter: W }
  | ({ readonly kind: "write" } & Change)
  /** Nothing to do before `lookAgainMs`; `null`: before something changes. */
  | { readonly kind: "rest"; readonly lookAgainMs: number | null };

/** Which of two campaigns a vacancy goes to: a ready one, then by priority where the strategy says so, then by arrival. */
export function ranksBefore(
  strategy: GroupPolicy["strategy"],
  a: WaitingCampaign,
  b: WaitingCampaign,
): boolean {
  if (a.ready !== b.ready) return a.ready;
  if (strategy === "priority" && a.candidate.priority !== b.candidate.priority)
    return a.candidate.priority > b.candidate.priority;
  return a.order < b.order;
}

export function decideUpkeep<W extends WaitingCampaign>(
  seen: Observation,
  waiters: Waiters<W>,
  stamp: Stamp,
): UpkeepDecision<W> {
  // Nearly every renewal ends here: its leader is asked for nothing, and no record is copied.
  const leftMs = leftOf(seen.record.holdMs, seen.ageMs);
  if (seen.record.holder !== null && leftMs > 0 && seen.record.transfer === null && waiters.size === 0)
    return { kind: "rest", lookAgainMs: leftMs };
  const now = carryOver(seen.record, seen.ageMs);
  if (now.holder !== null && now.holdMs > 0) return upkeepOfLed(now, waiters);
  const ending = endExpired(seen, now, stamp);
  const vacant = ending?.next ?? now;
  if (vacant.transfer !== null && vacant.transfer.toNodeId === waiters.departed)
    return { kind: "write", next: withdrawn(vacant), events: [] };
  const waiter = bestWaiter(vacant, waiters);
  if (waiter !== null) return { kind: "campaign", waiter };
  if (ending !== null) return { kind: "write", ...ending };
  return { kind: "rest", lookAgainMs: nextChance(now, waiters) };
}

/** The one to win this vacancy: by strategy, among those whom no mark holds back. */
export function bestWaiter<W extends WaitingCampaign>(vacant: ElectionRecord, waiters: Waiters<W>): W | null {
  if (waiters.size === 0 || vacant.pause !== null || vacant.delayMs > 0) return null;
  const { strategy } = policyOf(vacant);
  const mayWin = (nodeId: string) => isAllowed(vacant, nodeId) && obstacleFor(vacant, nodeId) === null;
  if (vacant.transfer === null) return waiters.first(strategy, mayWin);
  const { toNodeId } = vacant.transfer;
  return mayWin(toNodeId) ? firstOf(strategy, waiters.of(toNodeId)) : null;
}

/** The waiting campaign that a vacancy belongs to before `newcomer` may have it. */
export function overtaken<W extends WaitingCampaign>(
  seen: Observation,
  waiters: Waiters<W>,
  newcomer: WaitingCampaign,
  stamp: Stamp,
): W | null {
  const now = carryOver(seen.record, seen.ageMs);
  const vacant = endExpired(seen, now, stamp)?.next ?? now;
  const best = bestWaiter(vacant, waiters);
  return best !== null && ranksBefore(policyOf(vacant).strategy, best, newcomer) ? best : null;
}

function upkeepOfLed<W extends WaitingCampaign>(now: ElectionRecord, waiters: Waiters<W>): UpkeepDecision<W> {
  const { transfer, holder } = now;
  if (now.deposed === null && holder !== null) {
    // Its grant was written, and the answer lost: only a write of its own gives it the lease.
    const again = waiters
      .of(holder.nodeId)
      .find(({ candidate }) => holder.instanceId === candidate.instanceId);
    if (again !== undefined) return { kind: "campaign", waiter: again };
    if (transfer?.ready === true && transfer.toNodeId === waiters.departed)
      return { kind: "write", next: withdrawn(now), events: [] };
    if (transfer?.ready === false && waiters.of(transfer.toNodeId).some((each) => maySucceed(transfer, each)))
      return { kind: "write", next: { ...now, transfer: { ...transfer, ready: true } }, events: [] };
    const challenger = transfer === null ? preempting(now, holder, waiters) : null;
    if (challenger !== null) {
      const mark = { toNodeId: challenger.candidate.nodeId, leftMs: YIELD_MS, ready: true, by: null };
      return { kind: "write", next: { ...now, transfer: mark }, events: [] };
    }
  }
  return { kind: "rest", lookAgainMs: soonest([now.holdMs, transfer?.leftMs]) };
}

/**
 * A successor that is known to be gone holds up no one: the leader is no longer asked to yield to it, and a vacancy is no
 * longer reserved for it. What an operator asked for stands until its limit, in case the successor comes back.
 */
function withdrawn(now: ElectionRecord): ElectionRecord {
  const { transfer, holder } = now;
  const stands = transfer !== null && transfer.by !== null && holder !== null;
  return { ...now, transfer: stands ? { ...transfer, ready: false } : null };
}

function preempting<W extends WaitingCampaign>(
  now: ElectionRecord,
  holder: Holder,
  waiters: Waiters<W>,
): W | null {
  if (!policyOf(now).preempt || waiters.size === 0 || now.pause !== null) return null;
  const isFree = (nodeId: string) => now.bans.every((ban) => ban.nodeId !== nodeId);
  const highest = waiters.first("priority", (nodeId) => isAllowed(now, nodeId) && isFree(nodeId));
  // Ready ones rank first, so a cold one here means that no ready one may challenge.
  if (highest === null || !highest.ready) return null;
  return highest.candidate.priority > holder.priority ? highest : null;
}

/** Whether a leader may be asked to yield to this campaign of the successor. */
export function maySucceed(
  { allowCold }: Pick<TransferMark, "allowCold">,
  { ready }: WaitingCampaign,
): boolean {
  return ready || allowCold === true;
}

function firstOf<W extends WaitingCampaign>(
  strategy: GroupPolicy["strategy"],
  waiters: readonly W[],
): W | null {
  let first: W | null = null;
  for (const each of waiters) if (first === null || ranksBefore(strategy, each, first)) first = each;
  return first;
}

/** Time until the first mark that may hold back a waiting candidate ends. */
function nextChance<W extends WaitingCampaign>(now: ElectionRecord, waiters: Waiters<W>): number | null {
  if (waiters.size === 0) return null;
  if (now.pause !== null) return now.pause.leftMs;
  const bans = now.bans.filter((ban) => waiters.of(ban.nodeId).length > 0);
  return soonest([
    now.transfer?.leftMs,
    now.delayMs > 0 ? now.delayMs : null,
    ...bans.map(({ leftMs }) => leftMs),
  ]);
}

function soonest(durationsMs: readonly (number | null | undefined)[]): number | null {
  let least: number | null = null;
  for (const each of durationsMs) {
    if (typeof each === "number" && (least === null || each < least)) least = each;
  }
  return least;
}
