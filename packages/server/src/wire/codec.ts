/** One codec per shape: what the elector says in camelCase is told in snake_case, and the other way round. */
import type {
  CampaignRequest,
  CampaignResult,
  Group,
  GroupInput,
  Leader,
  LeadershipEvent,
  Leadership,
  Member,
  MemberHealth,
  PolicyInput,
  RenewRequest,
  RenewResult,
  ResignRequest,
  TransferRequest,
  WatchEvent,
} from "@tenure/core";
import type {
  CampaignBody,
  CampaignReply,
  EventShape,
  GroupPatch,
  GroupShape,
  LeaderReply,
  MemberHealthReply,
  MembersReply,
  RenewBody,
  RenewReply,
  ResignBody,
  TransferBody,
  WhoamiReply,
} from "./shapes.js";
import type { Caller } from "../auth/caller.js";
import type { FieldNames } from "../service-error.js";

/** Where a field has another name on the wire than its own in snake_case. */
export const CAMPAIGN_NAMES: FieldNames = { ttlMs: "lease_ttl_ms", instanceId: "instance_start_uuid" };
export const RENEW_NAMES: FieldNames = { ttlMs: "extend_by_ms", instanceId: "instance_start_uuid" };

interface LeaseShape {
  node_id: string;
  term: number;
  lease_expires_at_ms: number;
}

/** How an answer is told. */
export interface Telling {
  /** Leases with what their leader says of itself. */
  readonly withMetadata: boolean;
}

export const BRIEF: Telling = { withMetadata: false };

export function campaignRequest(groupId: string, body: CampaignBody): CampaignRequest {
  return {
    groupId,
    nodeId: body.node_id,
    ttlMs: body.lease_ttl_ms,
    instanceId: body.instance_start_uuid,
    priority: body.priority,
    metadata: body.metadata,
    ready: body.ready,
    waitMs: body.wait_ms,
  };
}

export function renewRequest(groupId: string, body: RenewBody): RenewRequest {
  return {
    groupId,
    nodeId: body.node_id,
    term: body.term,
    ttlMs: body.extend_by_ms,
    instanceId: body.instance_start_uuid,
  };
}

export function resignRequest(groupId: string, body: ResignBody): ResignRequest {
  return { groupId, nodeId: body.node_id, term: body.term, instanceId: body.instance_start_uuid };
}

export function transferRequest(groupId: string, body: TransferBody, by: string): TransferRequest {
  const { to_node_id: toNodeId, timeout_ms: timeoutMs, allow_cold: allowCold } = body;
  return { groupId, toNodeId, by, timeoutMs, allowCold };
}

export function leaseShape({ nodeId, term, expiresAtMs }: Leader): LeaseShape {
  return { node_id: nodeId, term, lease_expires_at_ms: expiresAtMs };
}

export function toldLease(
  leader: Leader,
  { withMetadata }: Telling,
): LeaseShape & { metadata?: Record<string, unknown> } {
  const { metadata } = leader;
  return withMetadata && metadata !== undefined ? { ...leaseShape(leader), metadata } : leaseShape(leader);
}

/** Without the signed proof, which the service adds where it signs. */
export function electedShape(result: CampaignResult & { kind: "elected" }): CampaignReply {
  const { leader, confirmed, reason, waitedMs, transferTo } = result;
  return {
    is_leader: true,
    leader: leaseShape(leader),
    ...(confirmed ? { confirmed } : {}),
    // The first leader of a group follows nobody.
    ...(reason === undefined || reason === "none" ? {} : { reason }),
    ...(waitedMs === undefined ? {} : { waited_ms: waitedMs }),
    ...(transferTo === undefined ? {} : { transfer_to: transferTo }),
  };
}

/** Without the signed proof. */
export function renewedShape(
  { leader, transferTo }: RenewResult & { kind: "renewed" },
  telling: Telling,
): RenewReply {
  return {
    ok: true,
    leader: toldLease(leader, telling),
    ...(transferTo === undefined ? undefined : { transfer_to: transferTo }),
  };
}

export function lostShape(result: CampaignResult & { kind: "lost" }, telling: Telling): CampaignReply {
  return {
    is_leader: false,
    leader: result.leader === null ? null : toldLease(result.leader, telling),
    retry_after_ms: result.retryAfterMs,
    ...heldBackShape(result),
  };
}

export function leaderShape(leadership: Leadership, isLocal: boolean): LeaderReply {
  const { leader, term, ageMs } = leadership;
  return {
    leader: leader === null ? null : { ...leaseShape(leader), metadata: leader.metadata ?? {} },
    term,
    ...heldBackShape(leadership),
    ...(isLocal ? { age_ms: Math.ceil(ageMs) } : {}),
  };
}

function heldBackShape<H extends string>({
  heldBack,
  heldBackForMs,
}: {
  readonly heldBack?: H;
  readonly heldBackForMs?: number;
}): { held_back?: H; held_back_for_ms?: number } | undefined {
  if (heldBack === undefined && heldBackForMs === undefined) return undefined;
  return {
    ...(heldBack === undefined ? {} : { held_back: heldBack }),
    ...(heldBackForMs === undefined ? {} : { held_back_for_ms: heldBackForMs }),
  };
}

export function eventShape(groupId: string, event: WatchEvent | LeadershipEvent): EventShape {
  return {
    type: event.type,
    group_id: groupId,
    term: event.term,
    leader_node_id: event.leaderNodeId,
    ts_ms: event.tsMs,
    previous_leader_node_id: event.previousLeaderNodeId,
    reason: event.reason,
    ...(event.by === undefined ? {} : { by: event.by }),
  };
}

export function groupInput(groupId: string, { policy, allowed_nodes }: GroupPatch, by: string): GroupInput {
  return {
    groupId,
    by,
    ...(policy === undefined ? {} : { policy: policyInput(policy) }),
    ...(allowed_nodes === undefined ? {} : { allowedNodes: allowed_nodes }),
  };
}

function policyInput(policy: NonNullable<GroupPatch["policy"]>): PolicyInput {
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

export function groupShape(group: Group): GroupShape {
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
    leader: group.leader === null ? null : leaseShape(group.leader),
    ...(leaseTtlMs === null ? {} : { lease_ttl_ms: leaseTtlMs }),
    term: group.term,
    paused: pausedForMs !== null,
    ...(typeof pausedForMs === "number" ? { paused_for_ms: pausedForMs } : {}),
    ...(heldBack === null ? {} : { held_back: heldBack.by, held_back_for_ms: heldBack.forMs }),
  };
}

export function whoamiShape(caller: Caller): WhoamiReply {
  const groups = caller.role === "admin" || caller.groups === null ? null : [...caller.groups];
  return { name: caller.name, role: caller.role, groups };
}

export function membersShape(members: readonly Member[]): MembersReply {
  return { members: members.map(memberShape) };
}

export function healthShape(members: readonly MemberHealth[]): MemberHealthReply {
  return {
    members: members.map((member) => ({
      ...memberShape(member),
      state: member.state,
      reason: member.reason,
      since_ms: member.sinceMs,
    })),
  };
}

function memberShape(member: Member): MembersReply["members"][number] {
  const { nodeId, role, ready, lastHeartbeatMs, metadata } = member;
  return {
    node_id: nodeId,
    role,
    ready,
    last_heartbeat_ms: lastHeartbeatMs,
    ...(metadata === undefined ? {} : { metadata }),
  };
}
