/**
 * The client library of Tenure.
 *
 * `Election` is one participant's life in the contest for one group, over any `Elector`: a Tenure service by HTTP, or a store
 * directly. What it promises, and what not, is said there. `RoleManager` is many of them in one process.
 *
 * `HttpElector` is the `Elector` port over a Tenure service: through any of its servers, with one request at a time for each
 * call, and with time limits that leave a leader room before its deadline. It decides nothing about leading: until when
 * a process may act is `LedTerm`'s to say, from the moment before the call.
 *
 * `Observer` watches without taking part, and `nodeToLeader` and its like bring requests to the leader. `openElector` opens
 * whichever elector a URL names.
 */
export { Breaker, type BreakerOptions } from "./election/breaker.js";
export {
  type DemoteHook,
  Election,
  type ElectionListener,
  type ElectionUpdate,
  type LeaderChangeHook,
  type PromoteHook,
  type StopOptions,
  type WaitOptions,
} from "./election/election.js";
export {
  AttemptsExhaustedError,
  ElectionError,
  type ElectionErrorCode,
  ElectionStoppedError,
  NotLeadingError,
  SlowReaderError,
  StopTimeoutError,
} from "./election/errors.js";
export type { HealthChecker } from "./election/health.js";
export type { Heart, HeartFactory, HeartHold, HeartOptions, HeartParts } from "./election/heart.js";
export { lead } from "./election/lead.js";
export type { Leading, LeadWork } from "./election/lead-scope.js";
export type { Lease } from "./election/lease.js";
export type { ElectionOptions, FencingOptions, RetryOptions } from "./election/options.js";
export type {
  ConnectionStatus,
  DemoteReason,
  ElectionEvent,
  ElectionState,
  ElectionStatus,
  HookName,
  KnownLeader,
  LeaseTime,
  Mandate,
} from "./election/state.js";
export type {
  ElectionLabels,
  ElectionMetrics,
  Logger,
  Span,
  TelemetryPart,
  Tracer,
} from "./election/telemetry.js";
export {
  HttpElectorError,
  type HttpErrorCode,
  RateLimitedError,
  UnauthenticatedError,
  UnexpectedAnswerError,
} from "./http/errors.js";
export { HttpElector } from "./http/http-elector.js";
export type { HttpElectorOptions, TlsOptions, TokenSource } from "./http/options.js";
export {
  type PromClient,
  prometheusMetrics,
  type PrometheusMetricsOptions,
  type PromRegistry,
} from "./metrics/prometheus-metrics.js";
export type { ObservedLeader, ObserverEvent, ObserverStatus } from "./observer/observed.js";
export { Observer } from "./observer/observer.js";
export type { AddressOf, ObserverOptions } from "./observer/options.js";
export {
  expressToLeader,
  fastifyToLeader,
  FORWARDED_HEADER,
  nodeToLeader,
  type RawReply,
  type RawRequest,
  type ToLeaderOptions,
} from "./observer/to-leader.js";
export { openElector, type OpenElectorOptions, type StoreConnection } from "./open-elector.js";
export { HeartThreadError, ThreadRenewalError } from "./worker/errors.js";
export type { ElectorDescription, ElectorModule, ThreadHttpOptions } from "./worker/thread-elector.js";
export { workerHeart, type WorkerHeartOptions } from "./worker/worker-heart.js";
export type { RoleManagerOptions, RoleOptions, SpreadOptions } from "./roles/options.js";
export { type RoleDemoteHook, RoleManager, type RolePromoteHook } from "./roles/role-manager.js";
export type {
  RoleDemoteReason,
  RoleEvent,
  RoleManagerStatus,
  RoleMember,
  RoleMetrics,
  RoleState,
  RoleStatus,
} from "./roles/state.js";
