/**
 * What the packages of Tenure share and no program needs: checks of requests, the codec of records, deadlines and signals. Outside of semantic
 * versioning: any release may change it. A program imports from `@tenure/core`.
 */
export { iterate, WakeupIterator } from "./async/iterate.js";
export { LinkedController } from "./async/linked-controller.js";
export { onAbort, unlessAborted } from "./async/on-abort.js";
export { Semaphore } from "./async/semaphore.js";
export type { Wakeup } from "./async/wakeup.js";
export { within } from "./async/within.js";
export { decodeHistory, decodeRecord } from "./codec.js";
export {
  checkId,
  checkInteger,
  checkKeys,
  checkMetadata,
  checkNumber,
  ID_CHARACTERS,
  ID_PATTERN,
  isId,
  isObject,
  LIMITS,
  MIN_WATCH_MS,
} from "./check.js";
export type { ServiceElector } from "./elector-admin.js";
export { callLimitMs } from "./elector/call-limit.js";
export {
  type ParsedCampaign,
  type ParsedRenew,
  type ParsedResign,
  parseAuditQuery,
  parseCampaign,
  parseDelete,
  parseGroup,
  parseGroupsQuery,
  parseHeartbeat,
  parsePause,
  parseRenew,
  parseRenewMany,
  parseResign,
  parseResume,
  parseStepDown,
  parseTransfer,
} from "./elector/requests.js";
export type { InspectedGroup, Inspector } from "./elector/inspector.js";
export { HighestTerms } from "./highest-terms.js";
export { CodedError } from "./errors.js";
export { EVENTS_IN_HISTORY } from "./history.js";
export { holdMs, leadMs } from "./lease-time.js";
export { SIGN_PERIOD_MS } from "./members.js";
export { type Deadline, deadlineOf } from "./deadline.js";
export type { ElectionRecord } from "./record.js";
export { hash32, rendezvous, rendezvousScore } from "./rendezvous.js";
export {
  isSpiffeName,
  parseSpiffeUri,
  parseTrustDomain,
  type SpiffeId,
  type SpiffeName,
  spiffeUri,
  trustDomainOf,
  urisOf,
} from "./spiffe-id.js";
export { DriverStore } from "./store/driver-store.js";
export { FeedHub, type Snapshot } from "./store/feed-hub.js";
export { MAX_KEY_LENGTH } from "./store/store.js";
