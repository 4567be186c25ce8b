/** Converts groups, members and acts between the library and the wire, as `election-codec.ts` does for elections. */
import type {
  Group,
  GroupAct,
  GroupInput,
  Member,
  MemberHealth,
  OperatorAct,
  PolicyInput,
} from "@tenure/core";
import {
  type Body,
  BRIEF_RESPONSE,
  leaderOf,
  type ResponseOptions,
  leaseResponse,
} from "./election-codec.js";
import { wireName } from "./field-names.js";
import type * as shapes from "./schemas/shapes.js";

export function groupInput(groupId: string, patch: shapes.GroupPatch, by: string): GroupInput {
  const { policy, allowed_nodes, reason } = patch;
  return {
    groupId,
    by,
    reason,
    ...(policy === undefined ? {} : { policy: policyInput(policy) }),
    ...(allowed_nodes === undefined ? {} : { allowedNodes: allowed_nodes }),
  };
}

function policyInput(policy: NonNullable<shapes.GroupPatch["policy"]>): PolicyInput {
  const { retry } = policy;
  return {
    minTtlMs: policy.min_ttl_ms,
    maxTtlMs: policy.max_ttl_ms,
    takeoverDelayMs: policy.takeover_delay_ms,
    strategy: policy.strategy,
    preempt: policy.preempt,
    retry:
      retry === undefined
        ? undefined
        : { initialMs: retry.initial_ms, maxMs: retry.max_ms, jitter: retry.jitter },
  };
}

export function groupPatch({ policy, allowedNodes, reason }: GroupInput): Body {
  return {
    policy: policy === undefined ? undefined : wireNames(policy),
    allowed_nodes: allowedNodes,
    reason,
  };
}

/** Unknown keys are converted as well, so that the service can refuse them by name. */
function wireNames(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [wireName(key), wireNames(each)]));
}

export function groupShape(group: Group, response: ResponseOptions = BRIEF_RESPONSE): shapes.GroupShape {
  const { policy, pausedForMs, heldBack, leaseTtlMs } = group;
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
    allowed_nodes: group.allowedNodes === null ? null : [...group.allowedNodes],
    explicit: group.explicit,
    leader: group.leader === null ? null : leaseResponse(group.leader, response),
    ...(leaseTtlMs === null ? {} : { lease_ttl_ms: leaseTtlMs }),
    term: group.term,
    paused: pausedForMs !== null,
    ...(typeof pausedForMs === "number" ? { paused_for_ms: pausedForMs } : {}),
    ...(heldBack === null ? {} : { held_back: heldBack.by, held_back_for_ms: heldBack.forMs }),
    pause:
      group.pause === null
        ? null
        : { by: group.pause.by, reason: group.pause.reason, since_ms: group.pause.sinceMs },
    bans: group.bans.map(({ nodeId, forMs, by, reason }) => ({ node_id: nodeId, for_ms: forMs, by, reason })),
  };
}

export function groupOf(shape: shapes.GroupShape): Group {
  const { policy } = shape;
  return {
    groupId: shape.group_id,
    explicit: shape.explicit,
    policy: {
      minTtlMs: policy.min_ttl_ms,
      maxTtlMs: policy.max_ttl_ms,
      takeoverDelayMs: policy.takeover_delay_ms,
      strategy: policy.strategy,
      preempt: policy.preempt,
      retry: { initialMs: policy.retry.initial_ms, maxMs: policy.retry.max_ms, jitter: policy.retry.jitter },
    },
    allowedNodes: shape.allowed_nodes,
    leader: shape.leader === null ? null : leaderOf(shape.leader),
    leaseTtlMs: shape.lease_ttl_ms ?? null,
    term: shape.term,
    pausedForMs: shape.paused ? (shape.paused_for_ms ?? "until-resumed") : null,
    heldBack:
      shape.held_back === undefined ? null : { by: shape.held_back, forMs: shape.held_back_for_ms ?? 0 },
    pause:
      shape.pause === null
        ? null
        : { by: shape.pause.by, reason: shape.pause.reason, sinceMs: shape.pause.since_ms },
    bans: shape.bans.map(({ node_id, for_ms, by, reason }) => ({
      nodeId: node_id,
      forMs: for_ms,
      by,
      reason,
    })),
  };
}

export function actShape(act: OperatorAct): shapes.ActShape {
  const { number, act: name, by, reason, tsMs, term, nodeId, forMs, force, changes } = act;
  return {
    number,
    act: name,
    by,
    reason,
    ts_ms: tsMs,
    term,
    ...(nodeId === undefined ? {} : { node_id: nodeId }),
    ...(forMs === undefined ? {} : { for_ms: forMs }),
    ...(force === undefined ? {} : { force }),
    ...(changes === undefined ? {} : { changes: [...changes] }),
  };
}

export function actOf(shape: shapes.ActShape): OperatorAct {
  const { number, act, by, reason, ts_ms, term, node_id, for_ms, force, changes } = shape;
  return {
    number,
    act,
    by,
    reason,
    tsMs: ts_ms,
    term,
    ...(node_id === undefined ? {} : { nodeId: node_id }),
    ...(for_ms === undefined ? {} : { forMs: for_ms }),
    ...(force === true ? { force } : {}),
    ...(changes === undefined ? {} : { changes }),
  };
}

export function groupActShape({ groupId, ...act }: GroupAct): shapes.GroupActShape {
  return { group_id: groupId, ...actShape(act) };
}

export function groupActOf({ group_id, ...act }: shapes.GroupActShape): GroupAct {
  return { groupId: group_id, ...actOf(act) };
}

export function memberShape(member: Member): shapes.Member {
  const { nodeId, role, ready, lastHeartbeatMs, metadata } = member;
  return {
    node_id: nodeId,
    role,
    ready,
    last_heartbeat_ms: lastHeartbeatMs,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** Older services, without warm standby, do not send `ready`. */
export function memberOf(shape: Omit<shapes.Member, "ready"> & { readonly ready?: boolean }): Member {
  const { node_id, role, ready, last_heartbeat_ms, metadata } = shape;
  const member = { nodeId: node_id, role, ready: ready !== false, lastHeartbeatMs: last_heartbeat_ms };
  return metadata === undefined ? member : { ...member, metadata };
}

export function memberHealthShape(member: MemberHealth): shapes.MemberHealth {
  const { state, reason, sinceMs } = member;
  return { ...memberShape(member), state, reason, since_ms: sinceMs };
}

export function memberHealthOf(shape: shapes.MemberHealth): MemberHealth {
  const { state, reason, since_ms: sinceMs } = shape;
  return { ...memberOf(shape), state, reason, sinceMs };
}
