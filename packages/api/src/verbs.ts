/**
 * Every verb of the service, declared once. The HTTP routes, the gRPC methods and `tenure.proto`, the OpenAPI document, the spans, the
 * calls of the client and the tables of docs/HTTP.md are made from this table or compared with it by a test.
 *
 * The table is checked against the ports of core: a verb of `Elector`, `ElectorAdmin` or `ServiceElector` that is missing here
 * does not compile. Neither does a verb without shapes (`schemas/verb-schemas.ts`) or without a handler in the server.
 */
import type { ServiceElector } from "@tenure/core/internal";
import { operations } from "./operations-verbs.js";
import { repeatable, type Verb } from "./verb.js";

type PortVerb = Exclude<keyof ServiceElector & string, "close">;

/** A verb whose port returns an iterable answers with a stream. */
type AnswersOf<F> = F extends (...asked: never[]) => AsyncIterable<unknown> ? "stream" : "once";

type PortVerbs = { readonly [V in PortVerb]: Verb & { readonly answers: AnswersOf<ServiceElector[V]> } };

/** The verbs that only a service has. */
type ServiceVerbs = Readonly<
  Record<
    | "campaignMany"
    | "attention"
    | "whoami"
    | "server"
    | "samples"
    | "keys"
    | "alive"
    | "metrics"
    | "openapi"
    | "docs",
    Verb
  >
>;

const act = { answers: "once", resend: "unsent" } as const;
const stream = { answers: "stream", resend: "freely" } as const;
const group = "/v1/groups/{group_id}";

const watchDescription =
  "With Accept: text/event-stream, a stream of Server-Sent Events whose id is the cursor; otherwise a long poll.";

/**
 * The verbs of participants and observers. All of them may be sent again: a repeated campaign is confirmed, a repeated renewal
 * prolongs the lease once more, and a repeated resignation changes nothing.
 */
const elections = {
  campaign: {
    ...repeatable,
    method: "POST",
    path: `${group}/campaign`,
    rpc: "Election/Campaign",
    access: "actAs",
    tag: "elections",
    summary: "Campaign for the leadership of a group, optionally waiting for it",
    description: "A leader that campaigns again keeps its term, and its lease starts again.",
    prefer: true,
    endsWithCaller: true,
  },
  campaignMany: {
    ...repeatable,
    method: "POST",
    path: "/v1/campaign",
    rpc: "Election/CampaignMany",
    access: "actAs",
    tag: "elections",
    summary: "Campaign for many groups, with one result per group and without waiting",
    batch: "campaigns",
    prefer: true,
    endsWithCaller: true,
  },
  renew: {
    ...repeatable,
    method: "POST",
    path: `${group}/renew`,
    rpc: "Election/Renew",
    access: "actAs",
    tag: "elections",
    summary: "Renew the lease",
    description: "After NOT_LEADER the caller must stop leading at once.",
    prefer: true,
  },
  renewMany: {
    ...repeatable,
    method: "POST",
    path: "/v1/renew",
    rpc: "Election/RenewMany",
    access: "actAs",
    tag: "elections",
    summary: "Renew many leases, with one result per lease",
    batch: "renewals",
    prefer: true,
  },
  resign: {
    ...repeatable,
    method: "POST",
    path: `${group}/resign`,
    rpc: "Election/Resign",
    access: "actAs",
    tag: "elections",
    summary: "Resign: release the lease after the work has ended",
    description: "Safe to repeat.",
  },
  leader: {
    ...repeatable,
    method: "GET",
    path: `${group}/leader`,
    rpc: "Election/Leader",
    access: "see",
    tag: "elections",
    summary: "Show the leader of a group",
  },
  watch: {
    ...stream,
    method: "GET",
    path: `${group}/watch`,
    rpc: "Election/Watch",
    access: "see",
    tag: "elections",
    summary: "Watch the changes of one group",
    description: watchDescription,
  },
  watchAll: {
    ...stream,
    method: "GET",
    path: "/v1/watch",
    rpc: "Election/WatchAll",
    access: "see",
    tag: "elections",
    summary: "Watch the changes of all groups that the caller may see",
    description: watchDescription,
  },
  watchMany: {
    ...stream,
    method: "POST",
    path: "/v1/watch",
    rpc: "Election/WatchMany",
    access: "see",
    tag: "elections",
    summary: "Watch the changes of several groups in one stream",
    description:
      "Server-Sent Events without ids: each event carries its number, which is the cursor of its group. " +
      "A group that the caller may not watch is reported by an event with the fields of an error and its group_id.",
    batch: "watches",
  },
} as const;

/**
 * The verbs of operators. An act is not sent again if the first request may have been carried out: a second creation would
 * conflict with the first, a second step-down could depose the next leader, a late pause could undo a resume. Reads and
 * heartbeats may be sent again.
 */
const groups = {
  createGroup: {
    ...act,
    method: "POST",
    path: "/v1/groups",
    rpc: "Groups/Create",
    access: "admin",
    tag: "groups",
    summary: "Create a group",
    status: 201,
  },
  groups: {
    ...repeatable,
    method: "GET",
    path: "/v1/groups",
    rpc: "Groups/List",
    access: "see",
    tag: "groups",
    summary: "List the groups that the caller may see",
    operationId: "listGroups",
  },
  group: {
    ...repeatable,
    method: "GET",
    path: group,
    rpc: "Groups/Get",
    access: "see",
    tag: "groups",
    summary: "Show a group",
    operationId: "getGroup",
  },
  updateGroup: {
    ...act,
    method: "PATCH",
    path: group,
    rpc: "Groups/Update",
    access: "admin",
    tag: "groups",
    summary: "Change a group",
  },
  deleteGroup: {
    ...act,
    method: "DELETE",
    path: group,
    rpc: "Groups/Delete",
    access: "admin",
    tag: "groups",
    summary: "Delete a group; its last term is kept",
  },
  members: {
    ...repeatable,
    method: "GET",
    path: `${group}/members`,
    rpc: "Groups/Members",
    access: "see",
    tag: "groups",
    summary: "List the members of a group",
  },
  health: {
    ...repeatable,
    method: "GET",
    path: `${group}/health`,
    rpc: "Groups/Health",
    access: "see",
    tag: "groups",
    summary: "List the members of a group with their health",
    description: "Includes members that no longer send heartbeats.",
  },
  heartbeat: {
    ...repeatable,
    method: "POST",
    path: `${group}/heartbeat`,
    rpc: "Groups/Heartbeat",
    access: "actAs",
    tag: "groups",
    summary: "Send a heartbeat",
  },
  stepDown: {
    ...act,
    method: "POST",
    path: `${group}/step-down`,
    rpc: "Groups/StepDown",
    access: "admin",
    tag: "groups",
    summary: "Ask the leader to step down",
  },
  transfer: {
    ...act,
    method: "POST",
    path: `${group}/transfer`,
    rpc: "Groups/Transfer",
    access: "admin",
    tag: "groups",
    summary:
      "Transfer the leadership to a waiting candidate; responds when the transfer has succeeded or failed",
    endsWithCaller: true,
  },
  pause: {
    ...act,
    method: "POST",
    path: `${group}/pause`,
    rpc: "Groups/Pause",
    access: "admin",
    tag: "groups",
    summary: "Pause elections; the leader may stay",
  },
  resume: {
    ...act,
    method: "POST",
    path: `${group}/resume`,
    rpc: "Groups/Resume",
    access: "admin",
    tag: "groups",
    summary: "Resume elections after a pause",
  },
  history: {
    ...repeatable,
    method: "GET",
    path: `${group}/history`,
    rpc: "Groups/History",
    access: "see",
    tag: "groups",
    summary: "List the last 64 changes of a group and the last 64 acts of operators, oldest first",
  },
  audit: {
    ...repeatable,
    method: "GET",
    path: "/v1/audit",
    rpc: "Groups/Audit",
    access: "see",
    tag: "groups",
    summary: "List what operators did to the groups that the caller may see, newest first",
    description: "The last 1,000 acts; with `group_id`, the last 64 acts on that group.",
  },
} as const;

export const VERBS = { ...elections, ...groups, ...operations } as const satisfies PortVerbs & ServiceVerbs;

export type VerbName = keyof typeof VERBS;

type NamesWhere<P> = { [V in VerbName]: (typeof VERBS)[V] extends P ? V : never }[VerbName];

/** The verbs with one answer over gRPC and HTTP: a transport serves them from the table alone. */
export type UnaryVerb = Exclude<NamesWhere<{ readonly answers: "once" }>, NamesWhere<{ readonly rpc: null }>>;
export type StreamVerb = NamesWhere<{ readonly answers: "stream" }>;

export const VERB_NAMES = Object.keys(VERBS) as readonly VerbName[];

export function isUnary(name: VerbName): name is UnaryVerb {
  return VERBS[name].answers === "once" && VERBS[name].rpc !== null;
}

/** The path of the verb, with the group id inserted. */
export function pathOf(name: VerbName, groupId?: string): string {
  const { path } = VERBS[name];
  return groupId === undefined ? path : path.replace("{group_id}", encodeURIComponent(groupId));
}
