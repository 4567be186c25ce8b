/** The schemas of requests and replies, for code that validates, serializes or describes them. */
export {
  CampaignManyBody,
  CampaignReply,
  ErrorReply,
  EventShape,
  EventsReply,
  GroupParams,
  GroupShape,
  HealthReply,
  NoQuery,
  NumberedEvent,
  orNull,
  RenewManyBody,
} from "./shapes.js";
export {
  type ReplyOf,
  type RequestOf,
  type ShapedVerb,
  VERB_SCHEMAS,
  type VerbSchema,
} from "./verb-schemas.js";
export { KEEP_ALIVE_MS, WatchManyBody, WatchQuery } from "./watch-shapes.js";
export { Type } from "./type.js";
