/** One codec per shape: what is asked in camelCase goes out in snake_case, and answers come back the other way. */
import {
  type CampaignResult,
  type Group,
  type GroupInput,
  type GroupHold,
  type HeldBack,
  type Leader,
  type LeadershipEvent,
  type Leadership,
  LIMITS,
  type Member,
  type MemberHealth,
  type Metadata,
  type NotLeader,
  type ParsedCampaign,
  type ParsedRenew,
  type ParsedResign,
  type RenewResult,
  type WatchEvent,
} from "@tenure/core";
import type { Refusal } from "./errors.js";

export interface LeaseReply {
  readonly node_id: string;
  readonly term: number;
  readonly lease_expires_at_ms: number;
  readonly metadata?: Metadata;
}

export interface CampaignReply {
  readonly is_leader: boolean;
  readonly leader: LeaseReply | null;
  readonly confirmed?: boolean;
  readonly retry_after_ms?: number;
  readonly held_back?: string;
  readonly held_back_for_ms?: number;
  readonly token?: string;
  readonly reason?: EventReply["reason"];
  readonly waited_ms?: number;
  readonly transfer_to?: string;
}

export interface RenewReply {
  readonly leader: LeaseReply;
  readonly token?: string;
  readonly transfer_to?: string;
}

export type RenewManyReply = readonly (
  | (RenewReply & { readonly ok: true })
  | (Refusal & { readonly ok: false })
)[];

export type CampaignManyReply = readonly (CampaignReply | Refusal)[];

export interface LeaderReply {
  readonly leader: LeaseReply | null;
  readonly term: number;
  readonly held_back?: NonNullable<Leadership["heldBack"]>;
  readonly held_back_for_ms?: number;
  readonly age_ms?: number;
}

export interface EventReply {
  readonly type: WatchEvent["type"];
  readonly group_id: string;
  readonly term: number;
  readonly leader_node_id: string | null;
  readonly ts_ms: number;
  readonly previous_leader_node_id: string | null;
  readonly reason: WatchEvent["reason"];
  readonly by?: string;
  /** Of a history. */
  readonly number?: number;
}

export interface GroupReply {
  readonly group_id: string;
  readonly policy: {
    readonly min_ttl_ms: number;
    readonly max_ttl_ms: number;
    readonly takeover_delay_ms: number;
    readonly strategy: "first" | "priority";
    readonly preempt: boolean;
    readonly retry: { readonly initial_ms: number; readonly max_ms: number; readonly jitter: number };
  };
  readonly allowed_nodes: readonly string[] | null;
  readonly explicit: boolean;
  readonly leader: LeaseReply | null;
  readonly lease_ttl_ms?: number;
  readonly term: number;
  readonly paused: boolean;
  readonly paused_for_ms?: number;
  readonly held_back?: GroupHold["by"];
  readonly held_back_for_ms?: number;
}

export interface MemberReply {
  readonly node_id: string;
  readonly role: Member["role"];
  /** Absent from a service without warm standby. */
  readonly ready?: boolean;
  readonly last_heartbeat_ms: number;
  readonly metadata?: Metadata;
}

export interface HealthReply extends MemberReply {
  readonly state: MemberHealth["state"];
  readonly reason: string;
  readonly since_ms: number;
}

/** What was not given is left out, as `JSON.stringify` does with `undefined`. */
type Body = Readonly<Record<string, unknown>>;

export function campaignBody({ candidate, ready, waitMs }: ParsedCampaign, elapsedMs: number): Body {
  const { nodeId, instanceId, ttlMs, priority, metadata } = candidate;
  return {
    node_id: nodeId,
    lease_ttl_ms: ttlMs,
    metadata: metadata ?? undefined,
    instance_start_uuid: instanceId ?? undefined,
    priority: priority === 0 ? undefined : priority,
    ready: ready ? undefined : false,
    wait_ms: waitMs === 0 ? undefined : Math.max(0, Math.floor(waitMs - elapsedMs)),
  };
}

/** No less than it takes in a request of many: three ids, three numbers, their names, and what it says of itself. */
export function campaignBytes({ candidate: { metadata } }: ParsedCampaign): number {
  return 3 * LIMITS.idLength + 200 + (metadata === null ? 0 : Buffer.byteLength(JSON.stringify(metadata)));
}

export function renewBody({ claim, ttlMs }: ParsedRenew): Body {
  return { ...claimBody(claim), extend_by_ms: ttlMs };
}

export function claimBody({ nodeId, term, instanceId }: ParsedResign["claim"]): Body {
  return { node_id: nodeId, term, instance_start_uuid: instanceId ?? undefined };
}

export function leaderOf(reply: LeaseReply, metadata: Metadata | undefined | null = reply.metadata): Leader {
  const leader = { nodeId: reply.node_id, term: reply.term, expiresAtMs: reply.lease_expires_at_ms };
  return metadata === undefined || metadata === null ? leader : { ...leader, metadata };
}

/** The winner's metadata is what it has just sent, so the answer does not repeat it. */
export function campaignResult(
  reply: CampaignReply,
  { candidate, waitMs }: ParsedCampaign,
  sentAfterMs: number,
): CampaignResult {
  const { leader, transfer_to: transferTo, token, reason } = reply;
  const { held_back: heldBack, held_back_for_ms: heldBackForMs } = reply;
  if (reply.is_leader && leader !== null) {
    return {
      kind: "elected",
      leader: leaderOf(leader, candidate.metadata),
      confirmed: reply.confirmed === true,
      ...(reason === undefined ? {} : { reason }),
      // The caller counts from before the call; what went by before the request that won is part of the wait.
      ...(waitMs === 0 ? {} : { waitedMs: Math.floor(sentAfterMs) + (reply.waited_ms ?? 0) }),
      ...(transferTo === undefined ? {} : { transferTo }),
      ...(token === undefined ? {} : { mandate: token }),
    };
  }
  return {
    kind: "lost",
    leader: leader === null ? null : leaderOf(leader),
    ...(heldBack === undefined ? {} : { heldBack: heldBack as HeldBack }),
    ...(heldBackForMs === undefined ? {} : { heldBackForMs }),
    retryAfterMs: reply.retry_after_ms ?? 0,
  };
}

export function renewResult({ leader, transfer_to: transferTo, token }: RenewReply): RenewResult {
  return {
    kind: "renewed",
    leader: leaderOf(leader),
    ...(transferTo === undefined ? {} : { transferTo }),
    ...(token === undefined ? {} : { mandate: token }),
  };
}

export function notLeader({ current_leader: current }: Refusal): NotLeader {
  const isNobody = current === undefined || current === null;
  return {
    kind: "not-leader",
    currentLeader: isNobody ? null : { nodeId: current.node_id, term: current.term },
  };
}

/** A leader that has said nothing of itself and one that has said `{}` are shown alike. */
export function leadership(reply: LeaderReply): Leadership {
  const { leader, term, age_ms: ageMs = 0, held_back: heldBack, held_back_for_ms: heldBackForMs } = reply;
  if (leader === null) {
    return {
      leader,
      term,
      ...(heldBack === undefined ? {} : { heldBack }),
      ...(heldBackForMs === undefined ? {} : { heldBackForMs }),
      ageMs,
    };
  }
  const hasMetadata = Object.keys(leader.metadata ?? {}).length > 0;
  return { leader: leaderOf(leader, hasMetadata ? leader.metadata : null), term, ageMs };
}

export function watchEvent(reply: EventReply, cursor: number): WatchEvent {
  return {
    type: reply.type,
    groupId: reply.group_id,
    cursor,
    term: reply.term,
    leaderNodeId: reply.leader_node_id,
    previousLeaderNodeId: reply.previous_leader_node_id,
    reason: reply.reason,
    tsMs: reply.ts_ms,
    ...(reply.by === undefined ? {} : { by: reply.by }),
  };
}

export function historyEvent(reply: EventReply): LeadershipEvent {
  const { groupId: _, cursor: number, ...rest } = watchEvent(reply, reply.number ?? 0);
  return { number, ...rest, type: rest.type as LeadershipEvent["type"] };
}

export function groupOf(reply: GroupReply): Group {
  const { policy } = reply;
  return {
    groupId: reply.group_id,
    explicit: reply.explicit,
    policy: {
      minTtlMs: policy.min_ttl_ms,
      maxTtlMs: policy.max_ttl_ms,
      takeoverDelayMs: policy.takeover_delay_ms,
      strategy: policy.strategy,
      preempt: policy.preempt,
      retry: { initialMs: policy.retry.initial_ms, maxMs: policy.retry.max_ms, jitter: policy.retry.jitter },
    },
    allowedNodes: reply.allowed_nodes,
    leader: reply.leader === null ? null : leaderOf(reply.leader),
    leaseTtlMs: reply.lease_ttl_ms ?? null,
    term: reply.term,
    pausedForMs: reply.paused ? (reply.paused_for_ms ?? "until-resumed") : null,
    heldBack:
      reply.held_back === undefined ? null : { by: reply.held_back, forMs: reply.held_back_for_ms ?? 0 },
  };
}

export function groupPatch({ policy, allowedNodes }: GroupInput): Body {
  return { policy: policy === undefined ? undefined : snakeCase(policy), allowed_nodes: allowedNodes };
}

/** Whatever its keys are: the service refuses those that it does not know, by their names. */
function snakeCase(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const named = Object.entries(value).map(([key, each]) => [
    key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    snakeCase(each),
  ]);
  return Object.fromEntries(named) as unknown;
}

export function memberOf({ node_id, role, ready, last_heartbeat_ms, metadata }: MemberReply): Member {
  const member = { nodeId: node_id, role, ready: ready !== false, lastHeartbeatMs: last_heartbeat_ms };
  return metadata === undefined ? member : { ...member, metadata };
}
