/**
 * The verbs of a Tenure service, declared once: routes, rpcs, who may call them, and the codecs between the library and the wire.
 * The schemas are in `@tenure/api/schemas`, so that a client need not load what validates them.
 */
export {
  type Body,
  BRIEF_RESPONSE,
  campaignBody,
  campaignRequest,
  campaignResult,
  currentLeaderShape,
  electedShape,
  eventShape,
  FULL_RESPONSE,
  historyEvent,
  historyShape,
  leaderOf,
  leadershipOf,
  leaderShape,
  leaseShape,
  lostShape,
  notLeaderOf,
  PREFER_METADATA,
  renewBody,
  renewedShape,
  renewRequest,
  renewResult,
  resignBody,
  resignRequest,
  type ResponseOptions,
  responseOptionsOf,
  leaseResponse,
  transferRequest,
  watchEvent,
} from "./election-codec.js";
export { libraryField, type NamesOf, wireField, wireName } from "./field-names.js";
export {
  groupInput,
  groupOf,
  groupPatch,
  groupShape,
  memberHealthOf,
  memberHealthShape,
  memberOf,
  memberShape,
} from "./group-codec.js";
export type { shapes } from "./schemas/verb-schemas.js";
export type { WatchManyBody } from "./schemas/watch-shapes.js";
export {
  type Access,
  isUnary,
  pathOf,
  type Resend,
  type StreamVerb,
  type UnaryVerb,
  type Verb,
  type VerbName,
  VERB_NAMES,
  VERBS,
} from "./verbs.js";
