/** What `--json` prints: the shapes of the HTTP API, whatever is behind the command. */
import type { Group, Leader, LeadershipEvent, Member, WatchEvent } from "@tenure/core";

type Shape = Readonly<Record<string, unknown>>;

export function leaseShape({ nodeId, term, expiresAtMs, metadata }: Leader): Shape {
  return {
    node_id: nodeId,
    term,
    lease_expires_at_ms: expiresAtMs,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

export function groupShape(group: Group): Shape {
  const { policy, leader, pausedForMs, heldBack, leaseTtlMs } = group;
  return {
    group_id: group.groupId,
    policy: {
      min_ttl_ms: policy.minTtlMs,
      max_ttl_ms: policy.maxTtlMs,
      takeover_delay_ms: policy.takeoverDelayMs,
      strategy: policy.strategy,
      preempt: policy.preempt,
      retry: { initial_ms: policy.retry.initialMs, max_ms: policy.retry.maxMs, jitter: policy.retry.jitter },
    },
    allowed_nodes: group.allowedNodes,
    explicit: group.explicit,
    leader: leader === null ? null : leaseShape(leader),
    ...(leaseTtlMs === null ? {} : { lease_ttl_ms: leaseTtlMs }),
    term: group.term,
    paused: pausedForMs !== null,
    ...(typeof pausedForMs === "number" ? { paused_for_ms: pausedForMs } : {}),
    ...(heldBack === null ? {} : { held_back: heldBack.by, held_back_for_ms: heldBack.forMs }),
  };
}

export function memberShape({ nodeId, role, ready, lastHeartbeatMs, metadata }: Member): Shape {
  return {
    node_id: nodeId,
    role,
    ready,
    last_heartbeat_ms: lastHeartbeatMs,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

export function historyShape(groupId: string, { number, ...event }: LeadershipEvent): Shape {
  return { ...eventShape({ groupId, cursor: number, ...event }), number };
}

export function watchShape(event: WatchEvent): Shape {
  return { ...eventShape(event), cursor: String(event.cursor) };
}

function eventShape(event: WatchEvent): Shape {
  return {
    type: event.type,
    group_id: event.groupId,
    term: event.term,
    leader_node_id: event.leaderNodeId,
    ts_ms: event.tsMs,
    previous_leader_node_id: event.previousLeaderNodeId,
    reason: event.reason,
    ...(event.by === undefined ? {} : { by: event.by }),
  };
}
