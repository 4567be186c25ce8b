/**
 * The request and the reply of each verb. The routes, the gRPC messages and the OpenAPI document are made from this table
 * and `VERBS`. If a verb has no entry here, this file does not compile.
 */
import type { Static, TObject, TSchema } from "typebox";
import { Type } from "./type.js";
import type { StreamVerb, UnaryVerb, VerbName } from "../verbs.js";
import * as shapes from "./shapes.js";
import { WatchManyBody, WatchQuery } from "./watch-shapes.js";

export type * as shapes from "./shapes.js";

export interface VerbSchema {
  /** The body, or the query of a GET or DELETE. The group is in the path. */
  readonly request: TObject;
  /** The query as it is sent, all values strings; given if `request` has numbers or booleans. */
  readonly query?: TObject;
  /** The body may be left out. */
  readonly isOptional?: true;
  readonly reply: TSchema;
}

const none = Type.Object({}, shapes.closed);
const ok = shapes.OkReply;

export const VERB_SCHEMAS = {
  campaign: { request: shapes.CampaignBody, reply: shapes.CampaignReply },
  campaignMany: { request: shapes.CampaignManyBody, reply: shapes.CampaignManyReply },
  renew: { request: shapes.RenewBody, reply: shapes.RenewReply },
  renewMany: { request: shapes.RenewManyBody, reply: shapes.RenewManyReply },
  resign: { request: shapes.ResignBody, reply: ok },
  leader: { request: shapes.LeaderQuery, reply: shapes.LeaderReply },
  watch: { request: WatchQuery, reply: shapes.EventsReply },
  watchAll: { request: WatchQuery, reply: shapes.EventsReply },
  watchMany: { request: WatchManyBody, reply: shapes.NumberedEvent },
  createGroup: { request: shapes.GroupBody, reply: shapes.GroupShape },
  groups: { request: shapes.GroupsRequest, query: shapes.GroupsQuery, reply: shapes.GroupsReply },
  group: { request: none, reply: shapes.GroupShape },
  updateGroup: { request: shapes.GroupPatch, reply: shapes.GroupShape },
  deleteGroup: { request: shapes.DeleteRequest, query: shapes.DeleteQuery, reply: ok },
  members: { request: none, reply: shapes.MembersReply },
  health: { request: none, reply: shapes.MemberHealthReply },
  heartbeat: { request: shapes.HeartbeatBody, reply: ok },
  stepDown: { request: shapes.StepDownBody, reply: ok },
  transfer: { request: shapes.TransferBody, reply: shapes.TransferReply },
  pause: { request: shapes.PauseBody, isOptional: true, reply: ok },
  resume: { request: shapes.ResumeBody, isOptional: true, reply: ok },
  history: { request: none, reply: shapes.HistoryReply },
  audit: { request: shapes.AuditRequest, query: shapes.AuditQuery, reply: shapes.AuditReply },
  attention: { request: none, reply: shapes.AttentionReply },
  whoami: { request: none, reply: shapes.WhoamiReply },
  server: { request: none, reply: shapes.ServerReply },
  samples: { request: shapes.SamplesRequest, query: shapes.SamplesQuery, reply: shapes.SamplesReply },
  keys: { request: none, reply: shapes.KeysReply },
  alive: { request: none, reply: shapes.HealthReply },
  ping: { request: none, reply: shapes.HealthReply },
} as const satisfies Readonly<Record<UnaryVerb | StreamVerb | "alive" | "ping", VerbSchema>>;

/** The verbs whose reply is JSON with a schema, unlike for example metrics. */
export type ShapedVerb = keyof typeof VERB_SCHEMAS & VerbName;

export type RequestOf<V extends ShapedVerb> = Static<(typeof VERB_SCHEMAS)[V]["request"]>;
export type ReplyOf<V extends ShapedVerb> = Static<(typeof VERB_SCHEMAS)[V]["reply"]>;
