/** How a term ended. */
export type EndReason = "expired" | "resigned" | "deposed" | "transferred";

/**
 * One change of leadership. A handover is two events: the loss, then the change. Events of a group are numbered from 1
 * without gaps; neither a restart nor a deletion of the group resets the numbers.
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
  /** The operator (or the server itself) that asked for it, if any. */
  readonly by?: string;
  /**
   * Of `LEADER_LOST`, if the lease expired: how long before the event the leader renewed or campaigned for the last time.
   * A server that started in between counts from its start. No node may have acted as leader for this long.
   */
  readonly silentMs?: number;
}
