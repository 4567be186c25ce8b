/** Answers of a service, for tests of how the page handles them. */
import type { Group, HeldBack, LeadershipEvent } from "./wire.js";

export function eventOf(
  group_id: string,
  term: number,
  leader_node_id: string | null,
  more: Partial<LeadershipEvent> = {},
): LeadershipEvent {
  const type = leader_node_id === null ? "LEADER_LOST" : "LEADER_CHANGED";
  return {
    type,
    group_id,
    term,
    leader_node_id,
    previous_leader_node_id: null,
    reason: "none",
    ts_ms: 1,
    ...more,
  };
}

export interface GroupMore {
  readonly leaseLeftMs?: number;
  readonly ttlMs?: number;
  readonly paused?: boolean;
  readonly paused_for_ms?: number;
  readonly held_back?: HeldBack;
  readonly held_back_for_ms?: number;
  readonly takeoverDelayMs?: number;
}

export function groupOf(
  group_id: string,
  term: number,
  leader: string | null,
  more: GroupMore = {},
  nowMs = 0,
): Group {
  const { leaseLeftMs = 1000, ttlMs = 1000, takeoverDelayMs = 0, paused = false, ...rest } = more;
  return {
    group_id,
    term,
    leader: leader === null ? null : { node_id: leader, term, lease_expires_at_ms: nowMs + leaseLeftMs },
    ...(leader === null ? {} : { lease_ttl_ms: ttlMs }),
    policy: {
      min_ttl_ms: 500,
      max_ttl_ms: 60_000,
      takeover_delay_ms: takeoverDelayMs,
      strategy: "first",
      preempt: false,
      retry: { initial_ms: 100, max_ms: 5000, jitter: 0.2 },
    },
    allowed_nodes: null,
    explicit: false,
    paused,
    pause: null,
    bans: [],
    ...rest,
  };
}
