import type { EndReason, Group, HeldBack } from "./wire.js";

/** A group as a row of the list, from the pages of groups and the events of the watch since. */
export interface GroupRow {
  readonly groupId: string;
  readonly leader: string | null;
  readonly term: number;
  /** On the service's clock; `null`: the group has no leader, or the end is not known yet. */
  readonly expiresAtMs: number | null;
  /** What a full bar stands for. */
  readonly ttlMs: number;
  /** When the lease was read, on the service's clock: what it says is of that moment. */
  readonly readAtMs: number;
  /** When the leader last changed, on the service's clock; `null`: not known. */
  readonly changedAtMs: number | null;
  /** How the last term ended. */
  readonly reason: EndReason;
  readonly paused: boolean;
  /** Until when, on the service's clock; `null`: not paused, or until resumed. */
  readonly pausedUntilMs: number | null;
  readonly takeoverDelayMs: number;
  /** What holds the group back besides a pause. */
  readonly hold: Hold | null;
  /** The number of members that were seen lately; `null`: not asked yet. */
  readonly members: number | null;
  /** What the service's own checks found that the row cannot show by itself. */
  readonly trouble: Trouble | null;
  /** In a page of groups, or led. A group that was deleted is in neither. */
  readonly isListed: boolean;
}

export interface Hold {
  readonly by: HeldBack;
  /** On the service's clock. */
  readonly untilMs: number;
}

export type Trouble = "flapping" | "missed_heartbeats";

export type GroupState = "vacant" | "flapping" | "overdue" | "held back" | "paused" | "never led" | "led";

/** The most urgent first. */
export const GROUP_STATES: readonly GroupState[] = [
  "vacant",
  "flapping",
  "overdue",
  "held back",
  "paused",
  "never led",
  "led",
];

/**
 * `paused` comes before `led`: no candidate can win while the group is paused. `flapping` comes before `vacant`: such a group
 * is vacant every few seconds, and the cause is what matters.
 */
export function stateOf(row: GroupRow, serverMs: number): GroupState {
  if (row.paused && (row.pausedUntilMs === null || row.pausedUntilMs > serverMs)) return "paused";
  if (holdOf(row, serverMs) !== null) return "held back";
  if (row.trouble === "flapping") return "flapping";
  if (row.leader === null) return row.term === 0 ? "never led" : "vacant";
  return row.trouble === "missed_heartbeats" || isOverdue(row) ? "overdue" : "led";
}

/** Clients renew after a third of the lease: after this share two renewals of three have been missed, as for the service's finding. */
const OVERDUE_SHARE = 2 / 3;
/** The clocks of page and service are known to about a second: shorter leases cannot be judged. */
const MIN_JUDGED_MS = 4000;

/** The leader had not renewed for most of its lease when the lease was last read. */
function isOverdue({ expiresAtMs, ttlMs, readAtMs }: GroupRow): boolean {
  if (expiresAtMs === null || ttlMs < MIN_JUDGED_MS) return false;
  return readAtMs - (expiresAtMs - ttlMs) > ttlMs * OVERDUE_SHARE;
}

/** A deposed leader holds the group back until the watch reports the end of its term. */
export function holdOf({ hold, leader }: GroupRow, serverMs: number): Hold | null {
  if (hold === null) return null;
  return hold.by === "deposed" ? (leader === null ? null : hold) : hold.untilMs > serverMs ? hold : null;
}

/** An expired lease starts the policy's takeover delay; no other end does. */
export function holdAfter(
  leader: string | null,
  reason: EndReason,
  atMs: number,
  takeoverDelayMs: number,
): Hold | null {
  const isResting = leader === null && reason === "expired" && takeoverDelayMs > 0;
  return isResting ? { by: "takeover_delay", untilMs: atMs + takeoverDelayMs } : null;
}

export function emptyRow(groupId: string): GroupRow {
  return {
    groupId,
    leader: null,
    term: 0,
    expiresAtMs: null,
    ttlMs: 0,
    readAtMs: 0,
    changedAtMs: null,
    reason: "none",
    paused: false,
    pausedUntilMs: null,
    takeoverDelayMs: 0,
    hold: null,
    members: null,
    trouble: null,
    isListed: false,
  };
}

/** What a page says of leadership counts only where it is not older than what the watch has said: terms only rise. */
export function withGroup(row: GroupRow, group: Group, serverMs: number): GroupRow {
  const settings = {
    paused: group.paused,
    pausedUntilMs: group.paused_for_ms === undefined ? null : serverMs + group.paused_for_ms,
    takeoverDelayMs: group.policy.takeover_delay_ms,
    isListed: true,
  };
  const { leader, term } = group;
  const isOlder = term < row.term || (term === row.term && row.leader === null && leader !== null);
  if (isOlder && row.changedAtMs !== null) return { ...row, ...settings };
  const hold =
    group.held_back === undefined
      ? null
      : { by: group.held_back, untilMs: serverMs + (group.held_back_for_ms ?? 0) };
  if (leader === null) {
    const isNew = row.leader !== null || term !== row.term;
    const ending = isNew ? { changedAtMs: null, reason: "none" as const } : {};
    return { ...row, ...settings, ...ending, hold, leader: null, term, expiresAtMs: null, ttlMs: 0 };
  }
  const isSame = row.term === term && row.leader === leader.node_id;
  return {
    ...row,
    ...settings,
    hold,
    leader: leader.node_id,
    term,
    expiresAtMs: leader.lease_expires_at_ms,
    ttlMs: group.lease_ttl_ms ?? 0,
    readAtMs: serverMs,
    ...(isSame ? {} : { changedAtMs: null }),
  };
}
