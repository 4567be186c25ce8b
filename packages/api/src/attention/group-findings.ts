/** What needs attention about one group: a pure function of what is known about the group at one time. */
import type { EndReason, Group, LeadershipEvent, Member } from "@tenure/core";
import { durationText } from "./duration-text.js";
import type { Finding, GroupFindingKind, Severity } from "./finding.js";
import { flappingOf, type Flapping, type Loss, lossOf } from "./flapping.js";

export interface GroupFacts {
  readonly groupId: string;
  /** An operator created the group. */
  readonly explicit: boolean;
  readonly allowedNodes: readonly string[] | null;
  /** The highest term so far; 0: never led. */
  readonly term: number;
  readonly leaderNodeId: string | null;
  /** The lease of the leader. `leftMs`: time until it expires. */
  readonly lease: { readonly leftMs: number; readonly ttlMs: number } | null;
  /** Why the group elects no leader now, other than by a pause. */
  readonly heldBack: "deposed" | "reserved" | "takeover_delay" | null;
  readonly pause: {
    readonly forMs: number | "until-resumed";
    readonly by: string | null;
    readonly reason: string | null;
    readonly sinceMs: number | null;
  } | null;
  /** Number of nodes that could take over (`candidatesOf`). */
  readonly candidates: number;
  /** Since when there is no candidate. `null`: not known, treated as long ago. */
  readonly aloneSinceMs: number | null;
  /** Since when the group is known. `null`: not known, treated as long ago. */
  readonly knownSinceMs: number | null;
  /** The end of the last term; `null`: the term has not ended, or its end is not known. */
  readonly lastEnd: (Loss & { readonly nodeId: string | null }) | null;
  /** Ends of terms that no operator asked for, oldest first; at least the last `LOSSES_KEPT`. */
  readonly losses: readonly Loss[];
}

/** A vacancy of this length is reported. A shorter one is an ordinary failover. */
export const VACANT_AFTER_MS = 2000;
/** A group that was created and has no leader yet is reported after this time. */
const NEVER_LED_AFTER_MS = 60_000;
/** If no operator created the group, no leader is expected any more this long after the last one was lost. */
const FORGOTTEN_AFTER_MS = 86_400_000;
/** A pause that began this long ago is a warning, whenever it will end. */
export const PAUSED_LONG_MS = 15 * 60_000;
/** A group without a candidate is reported after this time: after a failover, the other candidates need a moment to campaign again. */
const ALONE_AFTER_MS = 30_000;
/** A lease with less than this share left is overdue: its leader has missed two of three renewals. */
const OVERDUE_SHARE = 1 / 3;

/**
 * `led`: has a leader. `held_back`: no leader, and none may be elected now (paused, deposed, takeover delay, reserved for a
 * successor). `vacant`: no leader, although one is expected. `idle`: no leader, and none is expected: never led, or the last leader
 * of a group that no operator created resigned, or was lost more than a day ago, and no candidate waits.
 */
export type GroupState = "led" | "held_back" | "vacant" | "idle";

export function groupState(facts: GroupFacts, nowMs: number): GroupState {
  const { leaderNodeId, heldBack, pause, term, candidates, explicit, lastEnd } = facts;
  if (leaderNodeId !== null && heldBack !== "deposed") return "led";
  if (pause !== null || heldBack !== null) return "held_back";
  if (term === 0) return "idle";
  if (candidates > 0 || explicit) return "vacant";
  if (lastEnd === null || lastEnd.reason === "resigned") return "idle";
  return nowMs - lastEnd.tsMs < FORGOTTEN_AFTER_MS ? "vacant" : "idle";
}

export function groupFindings(facts: GroupFacts, nowMs: number): readonly Finding[] {
  const state = groupState(facts, nowMs);
  const found: Finding[] = [];
  const take = (finding: Finding | null): void => void (finding === null || found.push(finding));
  if (state === "vacant" || state === "idle") take(vacancy(facts, state, nowMs));
  if (facts.losses.length > 0) take(flapping(facts, nowMs));
  if (state === "led") {
    take(missedHeartbeats(facts, nowMs));
    take(noStandby(facts, nowMs));
  }
  if (facts.pause !== null) take(pausedLong(facts, facts.pause, nowMs));
  return found;
}

function vacancy(facts: GroupFacts, state: GroupState, nowMs: number): Finding | null {
  const { groupId, term, explicit, candidates, allowedNodes, knownSinceMs, lastEnd } = facts;
  const nodes = allowedNodes === null || allowedNodes.length === 0 ? "its nodes" : allowedNodes.join(", ");
  const start = `start ${nodes}, or delete the group: tenure groups delete ${groupId}`;
  if (term === 0) {
    if (!explicit || candidates > 0 || nowMs - (knownSinceMs ?? 0) < NEVER_LED_AFTER_MS) return null;
    const summary = "was created and has never had a leader; no candidate is waiting";
    return finding("vacant", "note", facts, knownSinceMs, summary, start);
  }
  const sinceMs = lastEnd?.tsMs ?? null;
  if (state === "idle" || nowMs - (sinceMs ?? 0) < VACANT_AFTER_MS) return null;
  const before = lastEnd === null ? "" : `: ${END_TEXTS[lastEnd.reason](lastEnd.nodeId ?? "its leader")}`;
  const age = sinceMs === null ? "" : ` for ${durationText(wholeSeconds(nowMs - sinceMs))}`;
  const summary =
    candidates === 0
      ? `has had no leader${age}${before}, and no candidate has taken over`
      : `has had no leader${age}${before}, although ${counted(candidates, "candidate is", "candidates are")} waiting`;
  const nextStep =
    candidates === 0
      ? start
      : `explain it with tenure why ${groupId}; check that a candidate is allowed to lead and not banned`;
  return finding("vacant", "problem", facts, sinceMs, summary, nextStep);
}

const END_TEXTS: Readonly<Record<EndReason | "none", (nodeId: string) => string>> = {
  expired: (nodeId) => `the lease of ${nodeId} expired`,
  resigned: (nodeId) => `${nodeId} resigned`,
  deposed: (nodeId) => `${nodeId} was asked to step down`,
  transferred: (nodeId) => `${nodeId} handed over, and its successor did not take over`,
  none: (nodeId) => `${nodeId} no longer leads`,
};

function flapping(facts: GroupFacts, nowMs: number): Finding | null {
  const flaps = flappingOf(facts.losses, nowMs);
  if (flaps === null) return null;
  const { count, spanMs, perHour, reason, sinceMs } = flaps;
  const summary =
    `is flapping: its last ${count} changes of leader took ${durationText(wholeSeconds(spanMs))} ` +
    `(${Math.round(perHour)} per hour), mostly because ${FLAP_CAUSES[reason]}`;
  const severity = reason === "resigned" ? "warning" : "problem";
  return finding("flapping", severity, facts, sinceMs, summary, flapAdvice(facts.groupId, reason));
}

const FLAP_CAUSES: Readonly<Record<EndReason | "none", string>> = {
  expired: "leases expired",
  resigned: "leaders resigned",
  deposed: "leaders were deposed",
  transferred: "a candidate of higher priority took over",
  none: "leaders were lost",
};

function flapAdvice(groupId: string, reason: Flapping["reason"]): string {
  switch (reason) {
    case "resigned":
      return "read the logs of the nodes: each wins, and resigns soon after";
    case "transferred":
      return `give the nodes equal priorities, or run tenure groups update ${groupId} --no-preempt`;
    default:
      return "leaders renew too late: use a longer ttl, renew every third of the ttl, and look for the cause of the delay (garbage collection, CPU load, network, store)";
  }
}

function missedHeartbeats(facts: GroupFacts, nowMs: number): Finding | null {
  const { lease, leaderNodeId } = facts;
  if (lease === null || lease.leftMs >= lease.ttlMs * OVERDUE_SHARE) return null;
  const silentMs = lease.ttlMs - lease.leftMs;
  const left = lease.leftMs <= 0 ? "is over" : `expires in ${durationText(lease.leftMs)}`;
  const summary = `is led by ${leaderNodeId ?? "a node"}, which has not renewed for ${durationText(silentMs)}; the lease ${left}`;
  const nextStep = `check whether ${leaderNodeId ?? "the leader"} is alive, overloaded or disconnected; a candidate takes over when the lease expires`;
  return finding("missed_heartbeats", "warning", facts, nowMs - silentMs, summary, nextStep);
}

function noStandby(facts: GroupFacts, nowMs: number): Finding | null {
  const { candidates, aloneSinceMs, leaderNodeId } = facts;
  if (candidates > 0 || nowMs - (aloneSinceMs ?? 0) < ALONE_AFTER_MS) return null;
  const summary = `has no candidate that could take over if ${leaderNodeId ?? "the leader"} fails`;
  const nextStep = "start a second node for this group, unless the group may be without a leader";
  return finding("no_standby", "note", facts, aloneSinceMs, summary, nextStep);
}

function pausedLong(
  facts: GroupFacts,
  { forMs, by, reason, sinceMs }: NonNullable<GroupFacts["pause"]>,
  nowMs: number,
): Finding | null {
  const isLong = sinceMs !== null && nowMs - sinceMs >= PAUSED_LONG_MS;
  if (forMs !== "until-resumed" && !isLong) return null;
  const until = forMs === "until-resumed" ? "until resumed" : `for another ${durationText(forMs)}`;
  const age = sinceMs === null ? "" : `, for ${durationText(wholeSeconds(nowMs - sinceMs))} now`;
  const actor = by === null ? "" : `, by ${by}`;
  const why = reason === null ? "" : ` (${reason})`;
  const led =
    facts.leaderNodeId === null
      ? "it has no leader and elects none"
      : `no candidate could take over from ${facts.leaderNodeId}`;
  const severity: Severity = !isLong ? "note" : facts.leaderNodeId === null ? "problem" : "warning";
  const summary = `is paused ${until}${age}${actor}${why}; ${led}`;
  const nextStep = `resume it when the reason for the pause is gone: tenure resume ${facts.groupId}`;
  return finding("paused_long", severity, facts, sinceMs, summary, nextStep);
}

function finding(
  kind: GroupFindingKind,
  severity: Severity,
  { groupId }: GroupFacts,
  sinceMs: number | null,
  summary: string,
  nextStep: string,
): Finding {
  return { kind, severity, groupId, sinceMs, summary, nextStep };
}

function counted(count: number, one: string, several: string): string {
  return count === 1 ? `a ${one}` : `${count} ${several}`;
}

/** For texts that are shown again each second: tenths of a second would only distract. */
function wholeSeconds(ms: number): number {
  return ms < 1000 ? ms : Math.floor(ms / 1000) * 1000;
}

/**
 * How many members could take over. Members are nodes that were seen in the last half minute: in a vacancy, only those count that
 * were seen since it began, because the lost leader and candidates that have ended are still members then.
 */
export function candidatesOf(
  members: readonly Pick<Member, "role" | "lastHeartbeatMs">[],
  vacantSinceMs: number | null,
): number {
  let count = 0;
  for (const { role, lastHeartbeatMs } of members) {
    if (role === "candidate" && (vacantSinceMs === null || lastHeartbeatMs > vacantSinceMs)) count++;
  }
  return count;
}

/** The facts about a group, from what an elector answers. `events`: those of its history, oldest first. */
export function factsOf(
  group: Group,
  events: readonly LeadershipEvent[],
  members: readonly Member[],
  nowMs: number,
): GroupFacts {
  const last = events.findLast(({ type }) => type === "LEADER_LOST");
  return {
    ...standingOf(group, nowMs),
    candidates: candidatesOf(members, group.leader === null ? (last?.tsMs ?? null) : null),
    aloneSinceMs: null,
    knownSinceMs: null,
    lastEnd:
      last === undefined ? null : { reason: last.reason, tsMs: last.tsMs, nodeId: last.previousLeaderNodeId },
    losses: events.map(lossOf).filter((loss) => loss !== null),
  };
}

const UNKNOWN_PAUSE = { by: null, reason: null, sinceMs: null };

/** The facts that follow from the state of the group alone, without its members and its history. */
export function standingOf(
  group: Group,
  nowMs: number,
): Omit<GroupFacts, "candidates" | "aloneSinceMs" | "knownSinceMs" | "lastEnd" | "losses"> {
  const { groupId, explicit, allowedNodes, term, leader, leaseTtlMs, heldBack, pausedForMs, pause } = group;
  return {
    groupId,
    explicit,
    allowedNodes,
    term,
    leaderNodeId: leader?.nodeId ?? null,
    lease:
      leader === null || leaseTtlMs === null
        ? null
        : { leftMs: leader.expiresAtMs - nowMs, ttlMs: leaseTtlMs },
    heldBack: heldBack?.by ?? null,
    pause: pausedForMs === null ? null : { ...(pause ?? UNKNOWN_PAUSE), forMs: pausedForMs },
  };
}
