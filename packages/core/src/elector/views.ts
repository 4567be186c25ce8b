import type { HeldBack, Leader, Leadership, NotLeader, WatchEvent } from "../elector.js";
import type { Group, GroupBan, GroupHold, Member, MemberHealth } from "../elector-admin.js";
import { healthAfter, type SeenMember, silenceBefore } from "../members.js";
import type { GroupState } from "./group-state.js";
import type { KnownMember } from "./member-page.js";
import type { LeadershipEvent } from "../event.js";
import {
  type Ban,
  type ElectionRecord,
  EMPTY_RECORD,
  type Holder,
  type Observation,
  policyOf,
  standingHolder,
} from "../record.js";
import { carryOver } from "../rules/carry-over.js";
import { groupObstacle } from "../rules/eligibility.js";

/** What callers are shown of a record. Nothing here decides whether a lease has expired. */
export function leaderView({ record, ageMs }: Observation, wallMs: number): Leader | null {
  const { holder, term, holdMs } = record;
  if (holder === null) return null;
  const leader = { nodeId: holder.nodeId, term, expiresAtMs: Math.round(wallMs + holdMs - ageMs) };
  return holder.metadata === null ? leader : { ...leader, metadata: holder.metadata };
}

/** The leader, or why there is none. Campaigns and renewals are answered with the same view. */
export function leadershipView(
  seen: Observation,
  wallMs: number,
): Pick<Leadership, "leader" | "heldBack" | "heldBackForMs"> {
  const leader = standingHolder(seen.record) === null ? null : leaderView(seen, wallMs);
  const obstacle = leader === null ? groupObstacle(carryOver(seen.record, seen.ageMs)) : null;
  return obstacle === null ? { leader } : { leader, ...heldBackView(obstacle) };
}

export function heldBackView<H extends HeldBack>({
  heldBack,
  leftMs,
}: {
  heldBack: H;
  leftMs: number | null;
}): { heldBack: H; heldBackForMs?: number } {
  return leftMs === null ? { heldBack } : { heldBack, heldBackForMs: Math.ceil(leftMs) };
}

/** The same for a record just written, which has a holder. */
export function leaderOf(record: ElectionRecord, wallMs: number): Leader {
  const leader = leaderView({ record, ageMs: 0 }, wallMs);
  if (leader === null) throw new Error(`a lease was given without a holder, term ${record.term}`);
  return leader;
}

/** The answer to a renewal or resignation of a node that does not lead. `holder`: whose lease has not ended. */
export function notLeader(holder: Holder | null, term: number): NotLeader {
  return { kind: "not-leader", currentLeader: holder === null ? null : { nodeId: holder.nodeId, term } };
}

export function groupView(groupId: string, seen: Observation, wallMs: number): Group {
  const { record } = seen;
  const now = carryOver(record, seen.ageMs);
  const { pause } = now;
  return {
    groupId,
    explicit: record.config !== null,
    policy: policyOf(record),
    allowedNodes: record.config?.allowedNodes ?? null,
    leader: leaderView(seen, wallMs),
    leaseTtlMs: record.holder?.ttlMs ?? null,
    term: record.term,
    pausedForMs: pause === null ? null : pause.leftMs === null ? "until-resumed" : Math.ceil(pause.leftMs),
    pause: pauseView(now),
    bans: now.bans.map(banView),
    heldBack: holdView(now),
  };
}

function pauseView({ pause }: ElectionRecord): Group["pause"] {
  if (pause?.order === undefined) return null;
  const { by, reason, tsMs } = pause.order;
  return { by, reason, sinceMs: tsMs };
}

function banView({ nodeId, leftMs, order }: Ban): GroupBan {
  return { nodeId, forMs: Math.ceil(leftMs), by: order?.by ?? null, reason: order?.reason ?? null };
}

/** A pause is shown separately. */
function holdView(now: ElectionRecord): GroupHold | null {
  const obstacle = groupObstacle({ ...now, pause: null });
  if (obstacle === null || obstacle.heldBack === "paused") return null;
  return { by: obstacle.heldBack, forMs: Math.ceil(obstacle.leftMs ?? 0) };
}

export function memberView(seen: SeenMember, record: ElectionRecord): Member {
  const role =
    standingHolder(record)?.nodeId === seen.nodeId ? "leader" : seen.isCandidate ? "candidate" : "observer";
  const ready = seen.ready !== false;
  const member = { nodeId: seen.nodeId, role, ready, lastHeartbeatMs: seen.lastSignMs } as const;
  return seen.metadata === null ? member : { ...member, metadata: seen.metadata };
}

export function healthView(known: KnownMember, record: ElectionRecord): MemberHealth {
  const { silentMs, healthySinceMs } = known;
  const member = memberView(known.member, record);
  const state = healthAfter(silentMs);
  if (state === "healthy") {
    const lost = lossOf(member, record);
    if (lost !== null)
      return { ...member, state: "suspect", reason: "its lease expired", sinceMs: lost.tsMs };
    return { ...member, state, reason: "seen recently", sinceMs: healthySinceMs };
  }
  const sinceMs = member.lastHeartbeatMs + silenceBefore(state);
  return { ...member, state, reason: `silent for ${Math.round(silentMs / 1000)} s`, sinceMs };
}

/** A leader whose lease expired counts as silent since then, however short that is, until it is seen again. */
function lossOf(
  { nodeId, role, lastHeartbeatMs }: Member,
  { events }: ElectionRecord,
): LeadershipEvent | null {
  if (role === "leader") return null;
  const isLoss = ({ type, reason, previousLeaderNodeId, tsMs }: LeadershipEvent): boolean =>
    type === "LEADER_LOST" &&
    reason === "expired" &&
    previousLeaderNodeId === nodeId &&
    tsMs >= lastHeartbeatMs;
  return events.findLast(isLoss) ?? null;
}

const watchEvents = new WeakMap<LeadershipEvent, WatchEvent>();

/** The same object for all watches of the group, so that a transport can write it as text once for all of them. */
export function watchEvent(groupId: string, event: LeadershipEvent): WatchEvent {
  let shared = watchEvents.get(event);
  if (shared === undefined) {
    const { number, ...rest } = event;
    shared = Object.freeze({ groupId, cursor: number, ...rest });
    watchEvents.set(event, shared);
  }
  return shared;
}

/** The state of a group after its event `number`, as an event. Where that event is not kept any more, the current state. */
export function stateAfter(group: GroupState, number: number, resync: boolean, wallMs: number): WatchEvent {
  const { groupId, record } = group;
  if (number === record.eventNumber) return stateEvent(groupId, record, resync, wallMs);
  if (number === 0) return stateEvent(groupId, EMPTY_RECORD, resync, wallMs);
  const isIt = (event: LeadershipEvent): boolean => event.number === number;
  const event = record.events.find(isIt) ?? group.history().events.find(isIt);
  if (event === undefined) return stateEvent(groupId, record, resync, wallMs);
  return { ...watchEvent(groupId, event), ...(resync ? { type: "RESYNC" } : {}) };
}

/** The current state as an event; `RESYNC` for a watcher that has missed too much. */
export function stateEvent(
  groupId: string,
  record: ElectionRecord,
  resync: boolean,
  wallMs: number,
): WatchEvent {
  const last = record.events.at(-1);
  const led = record.holder !== null;
  return {
    type: resync ? "RESYNC" : led ? "LEADER_CHANGED" : "LEADER_LOST",
    groupId,
    cursor: record.eventNumber,
    term: record.term,
    leaderNodeId: record.holder?.nodeId ?? null,
    previousLeaderNodeId: last?.previousLeaderNodeId ?? null,
    reason: last?.reason ?? "none",
    tsMs: last?.tsMs ?? Math.round(wallMs),
    ...(last?.by === undefined ? {} : { by: last.by }),
    ...(last?.silentMs === undefined ? {} : { silentMs: last.silentMs }),
  };
}
