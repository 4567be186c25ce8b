/** Requests, parsed once at the border. Unknown keys are refused; nothing is coerced. */
import { checkId, checkInteger, checkKeys, checkMetadata, either, isObject, LIMITS } from "../check.js";
import type { Metadata } from "../elector.js";
import { InvalidRequestError } from "../errors.js";
import type { GroupConfig } from "../record.js";
import { DEFAULT_POLICY, parsePolicy } from "../policy.js";
import { isActCursor } from "./act-log.js";
import { YIELD_MS } from "../rules/upkeep.js";
import type { Candidate } from "../rules/campaign.js";
import type { Claim } from "../rules/claim.js";
import type { Pause, StepDown, Transfer } from "../rules/operate.js";

export interface ParsedCampaign {
  readonly groupId: string;
  readonly candidate: Candidate;
  /** Not part of the candidate: it orders waiting campaigns and is never stored. */
  readonly ready: boolean;
  readonly waitMs: number;
}

export function parseCampaign(request: unknown): ParsedCampaign {
  const given = fields(request, [
    "groupId",
    "nodeId",
    "ttlMs",
    "instanceId",
    "priority",
    "metadata",
    "ready",
    "waitMs",
  ]);
  return {
    groupId: checkId(given["groupId"], "groupId"),
    candidate: {
      nodeId: checkId(given["nodeId"], "nodeId"),
      instanceId: optionalId(given["instanceId"], "instanceId"),
      ttlMs: checkTtl(given["ttlMs"], "ttlMs"),
      priority: checkInteger(either(given["priority"], 0), "priority", -LIMITS.priority, LIMITS.priority),
      metadata: checkMetadata(given["metadata"], "metadata") ?? null,
    },
    ready: flag(given["ready"], "ready", true),
    waitMs: checkInteger(either(given["waitMs"], 0), "waitMs", 0, LIMITS.waitMs),
  };
}

export interface ParsedRenew {
  readonly groupId: string;
  readonly claim: Claim;
  readonly ttlMs: number;
}

export function parseRenew(request: unknown): ParsedRenew {
  const given = fields(request, ["groupId", "nodeId", "term", "ttlMs", "instanceId"]);
  const { groupId, claim } = parseClaim(given);
  return { groupId, claim, ttlMs: checkTtl(given["ttlMs"], "ttlMs") };
}

export function parseRenewMany(requests: unknown): readonly ParsedRenew[] {
  if (!Array.isArray(requests) || requests.length > LIMITS.renewMany) {
    throw new InvalidRequestError("renewals", `must be a list of at most ${LIMITS.renewMany}`);
  }
  const named = new Set<string>();
  return Array.from(requests, (request: unknown, index) => {
    const parsed = parseListed(request, index);
    if (named.has(parsed.groupId))
      throw new InvalidRequestError(`renewals[${index}].groupId`, "is named twice");
    named.add(parsed.groupId);
    return parsed;
  });
}

/** The place is written only into errors: made for each field of a thousand renewals, it would cost more than the checks. */
function parseListed(request: unknown, index: number): ParsedRenew {
  try {
    return parseRenew(request);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    const place = `renewals[${index}]`;
    const field = error.field === "request" ? place : `${place}.${error.field}`;
    throw new InvalidRequestError(field, error.problem, { cause: error.cause });
  }
}

export interface ParsedResign {
  readonly groupId: string;
  readonly claim: Claim;
}

export function parseResign(request: unknown): ParsedResign {
  return parseClaim(fields(request, ["groupId", "nodeId", "term", "instanceId"]));
}

export function parseHeartbeat(request: unknown): {
  groupId: string;
  nodeId: string;
  metadata: Metadata | null;
  /** `null`: it does not say. */
  ready: boolean | null;
} {
  const given = fields(request, ["groupId", "nodeId", "metadata", "ready"]);
  return {
    groupId: checkId(given["groupId"], "groupId"),
    nodeId: checkId(given["nodeId"], "nodeId"),
    metadata: checkMetadata(given["metadata"], "metadata") ?? null,
    ready: given["ready"] === undefined ? null : flag(given["ready"], "ready"),
  };
}

/** Who acts, and why; `null`: no reason was given. */
export interface Act {
  readonly groupId: string;
  readonly by: string;
  readonly reason: string | null;
}

function parseAct({ groupId, by, reason }: Readonly<Record<string, unknown>>): Act {
  const isText = typeof reason === "string" && reason.length >= 1 && reason.length <= LIMITS.reasonLength;
  if (reason !== undefined && !isText)
    throw new InvalidRequestError("reason", `must be 1 to ${LIMITS.reasonLength} characters`);
  return {
    groupId: checkId(groupId, "groupId"),
    by: checkId(by, "by"),
    reason: isText ? reason : null,
  };
}

/** The name of an operator that gives none. */
function byOperator(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...given, by: either(given["by"], "operator") };
}

export function parseStepDown(request: unknown): Act & { stepDown: StepDown } {
  const given = fields(request, ["groupId", "by", "banMs", "force", "reason"]);
  return {
    ...parseAct(given),
    stepDown: {
      banMs: checkInteger(either(given["banMs"], 0), "banMs", 0, LIMITS.banMs),
      force: flag(given["force"], "force"),
    },
  };
}

export function parseTransfer(request: unknown): Act & { transfer: Transfer } {
  const given = fields(request, ["groupId", "toNodeId", "by", "timeoutMs", "allowCold", "reason"]);
  return {
    ...parseAct(given),
    transfer: {
      toNodeId: optionalId(given["toNodeId"], "toNodeId"),
      timeoutMs: checkInteger(either(given["timeoutMs"], YIELD_MS), "timeoutMs", 1, LIMITS.transferMs),
      allowCold: flag(given["allowCold"], "allowCold"),
    },
  };
}

export function parsePause(request: unknown): Act & { pause: Pause } {
  const given = fields(request, ["groupId", "by", "forMs", "create", "reason"]);
  const forMs = given["forMs"];
  return {
    ...parseAct(byOperator(given)),
    pause: {
      forMs: forMs === undefined ? null : checkInteger(forMs, "forMs", 1, LIMITS.pauseMs),
      create: flag(given["create"], "create"),
    },
  };
}

export function parseResume(request: unknown): Act {
  return parseAct(byOperator(fields(request, ["groupId", "by", "reason"])));
}

export function parseDelete(request: unknown): Act & { force: boolean } {
  const given = fields(request, ["groupId", "by", "force", "reason"]);
  return { ...parseAct(given), force: flag(given["force"], "force") };
}

export interface ParsedGroup extends Act {
  readonly change: (present: GroupConfig | null) => GroupConfig;
}

/** Applies the request to the configuration in force. A part of a policy can only be checked together with the rest. */
export function parseGroup(input: unknown): ParsedGroup {
  const given = fields(input, ["groupId", "policy", "allowedNodes", "by", "reason"]);
  const allowedNodes = parseAllowedNodes(given["allowedNodes"]);
  return {
    ...parseAct(byOperator(given)),
    change: (present) => ({
      policy: parsePolicy(given["policy"], present?.policy ?? DEFAULT_POLICY),
      allowedNodes: allowedNodes === undefined ? (present?.allowedNodes ?? null) : allowedNodes,
    }),
  };
}

export interface AuditQuery {
  readonly groupId: string | null;
  readonly by: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export function parseAuditQuery(query: unknown): AuditQuery {
  const given = fields(either(query, {}), ["groupId", "by", "limit", "cursor"]);
  const { cursor } = given as { cursor?: unknown };
  if (cursor !== undefined && (typeof cursor !== "string" || !isActCursor(cursor)))
    throw new InvalidRequestError("cursor", "must be the cursor of an earlier page");
  return {
    groupId: optionalId(given["groupId"], "groupId"),
    by: optionalId(given["by"], "by"),
    limit: checkInteger(either(given["limit"], 100), "limit", 1, LIMITS.groupsPage),
    cursor: cursor ?? null,
  };
}

export interface GroupsQuery {
  readonly prefix: string;
  readonly limit: number;
  readonly cursor: string | null;
}

export function parseGroupsQuery(query: unknown): GroupsQuery {
  const given = fields(either(query, {}), ["prefix", "limit", "cursor"]);
  const { prefix, limit, cursor } = given as { prefix?: unknown; limit?: unknown; cursor?: unknown };
  return {
    prefix: prefix === undefined || prefix === "" ? "" : checkId(prefix, "prefix"),
    limit: checkInteger(either(limit, 100), "limit", 1, LIMITS.groupsPage),
    cursor: cursor === undefined ? null : checkId(cursor, "cursor"),
  };
}

function parseClaim(given: Readonly<Record<string, unknown>>): ParsedResign {
  return {
    groupId: checkId(given["groupId"], "groupId"),
    claim: {
      nodeId: checkId(given["nodeId"], "nodeId"),
      term: checkInteger(given["term"], "term", 1, Number.MAX_SAFE_INTEGER),
      instanceId: optionalId(given["instanceId"], "instanceId"),
    },
  };
}

function parseAllowedNodes(value: unknown): readonly string[] | null | undefined {
  if (value === undefined || value === null) return value;
  if (!Array.isArray(value) || value.length > LIMITS.allowedNodes) {
    throw new InvalidRequestError(
      "allowedNodes",
      `must be a list of at most ${LIMITS.allowedNodes} node ids`,
    );
  }
  return [...new Set(Array.from(value, (id: unknown, index) => checkId(id, `allowedNodes[${index}]`)))];
}

function fields(request: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(request)) throw new InvalidRequestError("request", "must be an object");
  checkKeys(request, "", known);
  return request;
}

/** Any whole number: which of them a group admits is for its policy to say. */
function checkTtl(value: unknown, name: string): number {
  if (!Number.isInteger(value)) throw new InvalidRequestError(name, "must be a whole number");
  return value as number;
}

function optionalId(value: unknown, name: string): string | null {
  return value === undefined ? null : checkId(value, name);
}

function flag(value: unknown, name: string, byDefault = false): boolean {
  if (value !== undefined && typeof value !== "boolean")
    throw new InvalidRequestError(name, "must be true or false");
  return value ?? byDefault;
}

export function checkCursor(cursor: unknown): number | undefined {
  return cursor === undefined ? undefined : checkInteger(cursor, "cursor", 0, Number.MAX_SAFE_INTEGER);
}
