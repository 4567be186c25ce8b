/**
 * Converts requests and answers between the library (camelCase, results with a `kind`) and the wire (snake_case). The two
 * directions of a shape are next to each other, so that a field which is missing in one of them is easy to see. The server
 * reads requests and writes answers with these functions; the client writes requests and reads answers; `--json` of the
 * command writes answers.
 */
import type {
  CampaignRequest,
  CampaignResult,
  HeldBack,
  Leader,
  LeadershipEvent,
  Leadership,
  Metadata,
  NotLeader,
  RenewRequest,
  RenewResult,
  ResignRequest,
  TransferRequest,
  WatchEvent,
} from "@tenure/core";
import type { ParsedCampaign, ParsedRenew, ParsedResign } from "@tenure/core/internal";
import type * as shapes from "./schemas/shapes.js";

/** What a response contains besides the answer itself. */
export interface ResponseOptions {
  /** Leases contain the metadata of their leader. */
  readonly withMetadata: boolean;
}

export const BRIEF_RESPONSE: ResponseOptions = { withMetadata: false };
export const FULL_RESPONSE: ResponseOptions = { withMetadata: true };

/** The value of `Prefer` (RFC 7240), a header of HTTP and metadata of gRPC, by which a caller asks for the metadata of leaders. */
export const PREFER_METADATA = "leader-metadata";

/** Metadata is sent only on request, because most callers do not use it and it can add 4 KiB to each answer. */
export function responseOptionsOf(prefer: unknown): ResponseOptions {
  return prefer === PREFER_METADATA ? FULL_RESPONSE : BRIEF_RESPONSE;
}

/** A request body. `undefined` fields are not sent: `JSON.stringify` leaves them out. */
export type Body = Readonly<Record<string, unknown>>;

export function campaignRequest(groupId: string, body: shapes.CampaignBody): CampaignRequest {
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

/** `elapsedMs`: the part of `waitMs` that has already passed, if the request is sent again. */
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

export function renewRequest(groupId: string, body: shapes.RenewBody): RenewRequest {
  return {
    groupId,
    nodeId: body.node_id,
    term: body.term,
    ttlMs: body.extend_by_ms,
    instanceId: body.instance_start_uuid,
  };
}

export function renewBody({ claim, ttlMs }: ParsedRenew): Body {
  return { ...resignBody({ claim }), extend_by_ms: ttlMs };
}

export function resignRequest(groupId: string, body: shapes.ResignBody): ResignRequest {
  return { groupId, nodeId: body.node_id, term: body.term, instanceId: body.instance_start_uuid };
}

export function resignBody({ claim }: Pick<ParsedResign, "claim">): Body {
  const { nodeId, term, instanceId } = claim;
  return { node_id: nodeId, term, instance_start_uuid: instanceId ?? undefined };
}

export function transferRequest(groupId: string, body: shapes.TransferBody, by: string): TransferRequest {
  const { to_node_id: toNodeId, timeout_ms: timeoutMs, allow_cold: allowCold, reason } = body;
  return { groupId, toNodeId, by, timeoutMs, allowCold, reason };
}

export function leaseShape({ nodeId, term, expiresAtMs }: Leader): shapes.Lease {
  return { node_id: nodeId, term, lease_expires_at_ms: expiresAtMs };
}

/** With the metadata of the leader, if there is any and the options ask for it. */
export function leaseResponse(
  leader: Leader,
  { withMetadata }: ResponseOptions = FULL_RESPONSE,
): shapes.FullLease {
  const { metadata } = leader;
  return withMetadata && metadata !== undefined ? { ...leaseShape(leader), metadata } : leaseShape(leader);
}

export function leaderOf(
  lease: shapes.FullLease,
  metadata: Metadata | undefined | null = lease.metadata,
): Leader {
  const leader = { nodeId: lease.node_id, term: lease.term, expiresAtMs: lease.lease_expires_at_ms };
  return metadata === undefined || metadata === null ? leader : { ...leader, metadata };
}

/** Without the signed mandate, which the service adds if it signs mandates. */
export function electedShape(result: CampaignResult & { kind: "elected" }): shapes.CampaignReply {
  const { leader, confirmed, reason, waitedMs, transferTo } = result;
  return {
    is_leader: true,
    leader: leaseShape(leader),
    ...(confirmed ? { confirmed } : {}),
    // The first leader of a group has no predecessor.
    ...(reason === undefined || reason === "none" ? {} : { reason }),
    ...(waitedMs === undefined ? {} : { waited_ms: waitedMs }),
    ...(transferTo === undefined ? {} : { transfer_to: transferTo }),
  };
}

export function lostShape(
  result: CampaignResult & { kind: "lost" },
  response: ResponseOptions,
): shapes.CampaignReply {
  return {
    is_leader: false,
    leader: result.leader === null ? null : leaseResponse(result.leader, response),
    retry_after_ms: result.retryAfterMs,
    ...heldBackShape(result),
  };
}

/** The answer does not repeat the metadata of a winner: it is the metadata of the request. */
export function campaignResult(
  reply: shapes.CampaignReply,
  { candidate, waitMs }: ParsedCampaign,
  sentAfterMs: number,
): CampaignResult {
  const { leader, transfer_to: transferTo, token, reason } = reply;
  if (reply.is_leader && leader !== null) {
    return {
      kind: "elected",
      leader: leaderOf(leader, candidate.metadata),
      confirmed: reply.confirmed === true,
      ...(reason === undefined ? {} : { reason }),
      // The caller counts from before the call, so the time before the winning request was sent is part of the wait.
      ...(waitMs === 0 ? {} : { waitedMs: Math.floor(sentAfterMs) + (reply.waited_ms ?? 0) }),
      ...(transferTo === undefined ? {} : { transferTo }),
      ...(token === undefined ? {} : { mandate: token }),
    };
  }
  return {
    kind: "lost",
    leader: leader === null ? null : leaderOf(leader),
    ...heldBackOf<HeldBack>(reply),
    retryAfterMs: reply.retry_after_ms ?? 0,
  };
}

/** Without the signed mandate. */
export function renewedShape(
  { leader, transferTo }: RenewResult & { kind: "renewed" },
  response: ResponseOptions,
): shapes.RenewReply {
  const reply = { ok: true, leader: leaseResponse(leader, response) } as const;
  return transferTo === undefined ? reply : { ...reply, transfer_to: transferTo };
}

export function renewResult({
  leader,
  transfer_to: transferTo,
  token,
}: Pick<shapes.RenewReply, "leader" | "transfer_to" | "token">): RenewResult {
  return {
    kind: "renewed",
    leader: leaderOf(leader),
    ...(transferTo === undefined ? {} : { transferTo }),
    ...(token === undefined ? {} : { mandate: token }),
  };
}

type CurrentLeader = NonNullable<shapes.ErrorReply["current_leader"]>;

/** The current leader, as an answer NOT_LEADER names it. */
export function currentLeaderShape({ currentLeader }: NotLeader): CurrentLeader | null {
  return currentLeader === null ? null : { node_id: currentLeader.nodeId, term: currentLeader.term };
}

export function notLeaderOf({
  current_leader: current,
}: {
  readonly current_leader?: CurrentLeader | null;
}): NotLeader {
  const hasLeader = current !== undefined && current !== null;
  return {
    kind: "not-leader",
    currentLeader: hasLeader ? { nodeId: current.node_id, term: current.term } : null,
  };
}

export function leaderShape(leadership: Leadership, isLocal: boolean): shapes.LeaderReply {
  const { leader, term, ageMs } = leadership;
  const reply =
    leader === null ? { leader, term, ...heldBackShape(leadership) } : { leader: fullLease(leader), term };
  return isLocal ? { ...reply, age_ms: Math.ceil(ageMs) } : reply;
}

function fullLease({ nodeId, term, expiresAtMs, metadata = {} }: Leader): shapes.LeaderReply["leader"] {
  return { node_id: nodeId, term, lease_expires_at_ms: expiresAtMs, metadata };
}

/** The wire does not distinguish a leader without metadata from one with `{}`; both are read as none. */
export function leadershipOf(reply: shapes.LeaderReply): Leadership {
  const { leader, term, age_ms: ageMs = 0 } = reply;
  if (leader === null) {
    return { leader, term, ...heldBackOf<NonNullable<Leadership["heldBack"]>>(reply), ageMs };
  }
  const hasMetadata = Object.keys(leader.metadata ?? {}).length > 0;
  return { leader: leaderOf(leader, hasMetadata ? leader.metadata : null), term, ageMs };
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

function heldBackOf<H extends string>({
  held_back: heldBack,
  held_back_for_ms: heldBackForMs,
}: {
  readonly held_back?: string;
  readonly held_back_for_ms?: number;
}): { heldBack?: H; heldBackForMs?: number } {
  return {
    ...(heldBack === undefined ? {} : { heldBack: heldBack as H }),
    ...(heldBackForMs === undefined ? {} : { heldBackForMs }),
  };
}

export function eventShape(groupId: string, event: WatchEvent | LeadershipEvent): shapes.EventShape {
  return {
    type: event.type,
    group_id: groupId,
    term: event.term,
    leader_node_id: event.leaderNodeId,
    ts_ms: event.tsMs,
    previous_leader_node_id: event.previousLeaderNodeId,
    reason: event.reason,
    ...(event.by === undefined ? {} : { by: event.by }),
    ...(event.silentMs === undefined ? {} : { silent_ms: event.silentMs }),
  };
}

export function watchEvent(shape: shapes.EventShape, cursor: number): WatchEvent {
  return {
    type: shape.type,
    groupId: shape.group_id,
    cursor,
    term: shape.term,
    leaderNodeId: shape.leader_node_id,
    previousLeaderNodeId: shape.previous_leader_node_id,
    reason: shape.reason,
    tsMs: shape.ts_ms,
    ...(shape.by === undefined ? {} : { by: shape.by }),
    ...(shape.silent_ms === undefined ? {} : { silentMs: shape.silent_ms }),
  };
}

export function historyShape(groupId: string, event: LeadershipEvent): shapes.NumberedEvent {
  return { ...eventShape(groupId, event), number: event.number };
}

export function historyEvent(shape: shapes.NumberedEvent): LeadershipEvent {
  const { groupId: _, cursor: number, ...rest } = watchEvent(shape, shape.number);
  return { number, ...rest, type: rest.type as LeadershipEvent["type"] };
}
