/** What the service says, as far as the page reads it. */

export interface Lease {
  readonly node_id: string;
  readonly term: number;
  /** On the service's wall clock. */
  readonly lease_expires_at_ms: number;
}

export interface Policy {
  readonly min_ttl_ms: number;
  readonly max_ttl_ms: number;
  readonly takeover_delay_ms: number;
  readonly strategy: string;
  readonly preempt: boolean;
  readonly retry: { readonly initial_ms: number; readonly max_ms: number; readonly jitter: number };
}

export interface Group {
  readonly group_id: string;
  readonly policy: Policy;
  readonly allowed_nodes: readonly string[] | null;
  readonly explicit: boolean;
  readonly leader: Lease | null;
  readonly lease_ttl_ms?: number;
  readonly term: number;
  readonly paused: boolean;
  readonly paused_for_ms?: number;
  readonly held_back?: HeldBack;
  readonly held_back_for_ms?: number;
}

/** Besides a pause: why nobody can win, or nobody but a successor. */
export type HeldBack = "deposed" | "reserved" | "takeover_delay";

/** Whom the service takes the reader for. */
export interface Whoami {
  readonly name: string;
  readonly role: "admin" | "node" | "observer";
}

export interface GroupsPage {
  readonly groups: readonly Group[];
  readonly cursor: string | null;
}

export type EndReason = "expired" | "resigned" | "deposed" | "transferred" | "none";

export interface LeadershipEvent {
  readonly type: "LEADER_CHANGED" | "LEADER_LOST" | "RESYNC";
  readonly group_id: string;
  readonly term: number;
  readonly leader_node_id: string | null;
  readonly previous_leader_node_id: string | null;
  readonly reason: EndReason;
  readonly ts_ms: number;
  readonly by?: string;
}

export interface HistoryEvent extends LeadershipEvent {
  readonly type: "LEADER_CHANGED" | "LEADER_LOST";
  readonly number: number;
}

export interface Member {
  readonly node_id: string;
  readonly role: "leader" | "candidate" | "observer";
  readonly ready: boolean;
  readonly last_heartbeat_ms: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}
