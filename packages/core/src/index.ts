/**
 * The core of Tenure: who may lead, for how long, and how every participant can check it.
 *
 * Two ports carry it. A `Store` keeps records; an `Elector` answers who leads. `StoreElector` is the second over the
 * first, by the lease rules in `rules/`, which are pure functions.
 */
export { type CancelTimer, type Clock, sleep } from "./clock.js";
export type {
  CampaignRequest,
  CampaignResult,
  Elector,
  HeldBack,
  Leader,
  LeaderOptions,
  Leadership,
  Metadata,
  NotLeader,
  RenewManyResult,
  RenewRequest,
  RenewResult,
  ResignRequest,
  ResignResult,
  WatchAllOptions,
  WatchEvent,
  WatchOptions,
} from "./elector.js";
export type {
  ElectorAdmin,
  Group,
  AuditQuery,
  DeleteRequest,
  GroupBan,
  GroupHold,
  GroupInput,
  GroupsOptions,
  GroupWatch,
  HeartbeatRequest,
  Member,
  MemberHealth,
  PauseRequest,
  ResumeRequest,
  StepDownRequest,
  TransferRequest,
  WatchManyItem,
} from "./elector-admin.js";
export { StoreElector } from "./elector/store-elector.js";
export type { StoreElectorOptions } from "./elector/store-elector-options.js";
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
export type { GroupHistory } from "./history.js";
export type { ActName, GroupAct, OperatorAct } from "./operator-act.js";
export { DEFAULT_DRIFT_RATIO } from "./lease-time.js";
export { LedTerm, type LeaseAnswer, type SendMoment, sendMoment } from "./leader/led-term.js";
export {
  DEFAULT_POLICY,
  type GroupPolicy,
  type PolicyInput,
  type RetryPolicy,
  TTL_BOUNDS_MS,
} from "./policy.js";
export { type FeedSink, NothingWritten, type StoreDriver, type WriteCall } from "./store/driver.js";
export { storeOf } from "./store/driver-store.js";
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
export { systemClock } from "./system-clock.js";
