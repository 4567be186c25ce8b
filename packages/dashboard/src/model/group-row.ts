import type { EndReason, Group } from "./wire.js";

/** A group as a row of the list: what the pages of groups said, and what the watch has said since. */
export interface GroupRow {
  readonly groupId: string;
  readonly leader: string | null;
  readonly term: number;
  /** On the service's clock; `null` where nobody leads, or nobody has said yet. */
  readonly expiresAtMs: number | null;
  /** The longest that this term's lease was seen to run: what a full bar stands for. */
  readonly longestMs: number;
  /** When the leader last changed, on the service's clock; `null`: not known. */
  readonly changedAtMs: number | null;
  /** How the last term ended. */
  readonly reason: EndReason;
  readonly paused: boolean;
  /** Until when, on the service's clock; `null`: not paused, or until resumed. */
  readonly pausedUntilMs: number | null;
  readonly takeoverDelayMs: number;
  /** How many have given a sign of life; `null`: not asked yet. */
  readonly members: number | null;
  /** In a page of groups, or led. A group that was deleted is in neither. */
  readonly isListed: boolean;
}

export type GroupState = "led" | "vacant" | "paused" | "held back";

export const GROUP_STATES: readonly GroupState[] = ["led", "vacant", "paused", "held back"];

/** A pause counts more than who leads: nobody can win, whatever else is so. */
export function stateOf(row: GroupRow, serverMs: number): GroupState {
  if (row.paused && (row.pausedUntilMs === null || row.pausedUntilMs > serverMs)) return "paused";
  if (row.leader !== null) return "led";
  return heldBackUntilMs(row) > serverMs ? "held back" : "vacant";
}

/** A lease that ran out starts the policy's takeover delay; no other end does. */
export function heldBackUntilMs(row: GroupRow): number {
  if (row.leader !== null || row.reason !== "expired" || row.changedAtMs === null) return 0;
  return row.changedAtMs + row.takeoverDelayMs;
}

export function emptyRow(groupId: string): GroupRow {
  return {
    groupId,
    leader: null,
    term: 0,
    expiresAtMs: null,
    longestMs: 0,
    changedAtMs: null,
    reason: "none",
    paused: false,
    pausedUntilMs: null,
    takeoverDelayMs: 0,
    members: null,
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
  if (leader === null) {
    const isNew = row.leader !== null || term !== row.term;
    const ending = isNew ? { changedAtMs: null, reason: "none" as const } : {};
    return { ...row, ...settings, ...ending, leader: null, term, expiresAtMs: null, longestMs: 0 };
  }
  const isSame = row.term === term && row.leader === leader.node_id;
  const leftMs = Math.max(0, leader.lease_expires_at_ms - serverMs);
  return {
    ...row,
    ...settings,
    leader: leader.node_id,
    term,
    expiresAtMs: leader.lease_expires_at_ms,
    longestMs: isSame ? Math.max(row.longestMs, leftMs) : leftMs,
    ...(isSame ? {} : { changedAtMs: null }),
  };
}
