/**
 * The verbs of a Tenure service, declared once: routes, rpcs, who may call them, and the codecs between the library and the wire.
 * The schemas are in `@tenure/api/schemas`, so that a client need not load what validates them.
 */
export {
  bySeverity,
  type Finding,
  FINDING_KINDS,
  type FindingKind,
  findingOf,
  findingShape,
  SEVERITIES,
  type Severity,
} from "./attention/finding.js";
export { flappingOf, type Loss, LOSSES_KEPT, lossOf } from "./attention/flapping.js";
export {
  candidatesOf,
  factsOf,
  type GroupFacts,
  groupFindings,
  type GroupState,
  groupState,
  standingOf,
} from "./attention/group-findings.js";
export {
  certificateFinding,
  serverFindings,
  SLOW_WRITE_MS,
  STORE_WINDOW_MS,
  type StoreFacts,
  type Validity,
  type WriteTimes,
} from "./attention/server-findings.js";
export {
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
export { type NamesOf, wireField } from "./field-names.js";
export {
  actOf,
  actShape,
  groupActOf,
  groupActShape,
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
export type { Access, Resend, Verb } from "./verb.js";
export {
  isUnary,
  pathOf,
  type StreamVerb,
  type UnaryVerb,
  type VerbName,
  VERB_NAMES,
  VERBS,
} from "./verbs.js";
