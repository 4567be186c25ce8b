/**
 * The core of Tenure: who may lead, for how long, and how everybody can tell.
 *
 * Two ports carry it. A `Store` keeps records; an `Elector` answers who leads. `StoreElector` is the second over the
 * first, by the lease rules in `rules/`, which are pure functions.
 */
export { type CancelTimer, type Clock, sleep } from "./clock.js";
export { decodeHistory, decodeRecord, encodeHistory, encodeRecord } from "./codec.js";
export {
  checkId,
  checkInteger,
  checkKeys,
  checkMetadata,
  checkNumber,
  isObject,
  LIMITS,
  MIN_WATCH_MS,
} from "./check.js";
export type {
  CampaignRequest,
  CampaignResult,
  Elector,
  ElectorAdmin,
  Group,
  GroupHold,
  GroupInput,
  GroupsOptions,
  GroupWatch,
  HeartbeatRequest,
  HeldBack,
  Leader,
  LeaderOptions,
  Leadership,
  Member,
  MemberHealth,
  Metadata,
  NotLeader,
  RenewManyResult,
  RenewRequest,
  RenewResult,
  ResignRequest,
  ResignResult,
  PauseRequest,
  ResumeRequest,
  ServiceElector,
  StepDownRequest,
  TransferRequest,
  WatchAllOptions,
  WatchEvent,
  WatchManyItem,
  WatchOptions,
} from "./elector.js";
// Every elector refuses the same requests in the same words.
export {
  type ParsedCampaign,
  type ParsedRenew,
  type ParsedResign,
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
export { StoreElector, type StoreElectorOptions } from "./elector/store-elector.js";
export {
  BackendUnavailableError,
  ClosedError,
  ConflictError,
  type ErrorCode,
  GroupNotFoundError,
  TooManyGroupsError,
  InvalidRequestError,
  InvalidTtlError,
  TenureError,
  UnauthorizedError,
} from "./errors.js";
export type { EndReason, LeadershipEvent } from "./event.js";
export { EVENTS_IN_HISTORY } from "./history.js";
export { DEFAULT_DRIFT_RATIO } from "./lease-time.js";
export { LedTerm, type LeaseAnswer, type SendMoment, sendMoment } from "./leader/led-term.js";
export { type Deadline, deadlineOf } from "./deadline.js";
export {
  DEFAULT_POLICY,
  type GroupPolicy,
  type PolicyInput,
  type RetryPolicy,
  TTL_BOUNDS_MS,
} from "./policy.js";
export type { ElectionRecord, Holder } from "./record.js";
export { type FeedSink, NothingWritten, type StoreDriver, type WriteCall } from "./store/driver.js";
export { DriverStore, storeOf } from "./store/driver-store.js";
export { FeedHub, type Snapshot } from "./store/feed-hub.js";
export { MemoryStore } from "./store/memory-store.js";
export type {
  CallOptions,
  CasOp,
  CasOutcome,
  Entry,
  FeedItem,
  Revision,
  Store,
  StoreFeatures,
  StoreLimits,
  StoreManifest,
} from "./store/store.js";
export { MAX_KEY_LENGTH } from "./store/store.js";
export { onAbort, unlessAborted } from "./on-abort.js";
export { systemClock } from "./system-clock.js";
