/** How a term ended. */
export type EndReason = "expired" | "resigned" | "deposed" | "transferred";

/**
 * One change of leadership. A handover is two: the loss, then the change. Events of a group are numbered from 1
 * without gaps, for good: neither a restart nor a deletion of the group starts them anew.
 */
export interface LeadershipEvent {
  readonly number: number;
  readonly type: "LEADER_CHANGED" | "LEADER_LOST";
  readonly term: number;
  readonly leaderNodeId: string | null;
  readonly previousLeaderNodeId: string | null;
  /** How the previous term ended; `none` if there was none. */
  readonly reason: EndReason | "none";
  /** Wall clock of the writer: for people, never for decisions. */
  readonly tsMs: number;
  /** Who asked for it, where an operator (or the server itself) did. */
  readonly by?: string;
}
