/** The schemas of the wire, for whoever validates, serializes or describes it. They load TypeBox; a client needs only their types. */
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
