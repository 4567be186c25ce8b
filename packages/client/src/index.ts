/**
 * The client library of Tenure.
 *
 * `Election` is one participant in the contest for one group, over any `Elector`: a Tenure service by HTTP, or a store
 * directly. `election/election.ts` says what it promises and what not. `RoleManager` runs many of them in one process.
 *
 * `HttpElector` implements `Elector` over a Tenure service: through any of its servers, with one request at a time for
 * each call, and with time limits that leave a leader time before its deadline. It does not decide how long a process
 * may act: `LedTerm` does, counting from before the call.
 *
 * `Observer` watches without taking part. `nodeToLeader`, `expressToLeader` and `fastifyToLeader` bring requests to the
 * leader. `openElector` opens the elector that a URL names.
 *
 * Everything that a program needs is exported here, including what the core defines.
 */
export {
  BackendUnavailableError,
  type Clock,
  ClosedError,
  ConflictError,
  type Elector,
  type ElectorAdmin,
  GroupNotFoundError,
  InvalidRequestError,
  InvalidTtlError,
  type LeadershipEvent,
  type Metadata,
  type StepDownRequest,
  systemClock,
  TenureError,
  TooManyGroupsError,
  type TransferRequest,
  UnauthorizedError,
  type WatchEvent,
} from "@tenure/core";
export { Breaker } from "./election/breaker.js";
export { Election } from "./election/election.js";
export {
  AttemptsExhaustedError,
  ElectionError,
  ElectionStoppedError,
  NotLeadingError,
  SlowReaderError,
  StopTimeoutError,
} from "./election/errors.js";
export type { HealthChecker } from "./election/health.js";
export type { LeaseRenewerFactory } from "./election/lease-renewer.js";
export { lead } from "./election/lead.js";
export type { Leading } from "./election/lead-scope.js";
export type { ElectionOptions, RetryOptions, StopOptions } from "./election/election-options.js";
export type { PreparationOptions, Prepare, PrepareContext } from "./election/preparation.js";
export type {
  DemoteReason,
  ElectionEvent,
  ElectionState,
  ElectionStatus,
  KnownLeader,
  LeaseTime,
  Mandate,
} from "./election/state.js";
export type { ElectionMetrics, Logger, Tracer } from "./election/telemetry.js";
export {
  HttpElectorError,
  RateLimitedError,
  UnauthenticatedError,
  UnexpectedAnswerError,
} from "./http/errors.js";
export { HttpElector } from "./http/http-elector.js";
export type { HttpElectorOptions } from "./http/options.js";
export { prometheusMetrics } from "./metrics/prometheus-metrics.js";
export { prometheusRoleMetrics } from "./metrics/prometheus-role-metrics.js";
export type { ObservedLeader, ObserverEvent, ObserverStatus } from "./observer/observed.js";
export { Observer } from "./observer/observer.js";
export type { ObserverOptions } from "./observer/options.js";
export {
  expressToLeader,
  fastifyToLeader,
  nodeToLeader,
  type ToLeaderOptions,
} from "./observer/to-leader.js";
export { openElector, type OpenElectorOptions, type StoreConnection } from "./open-elector.js";
export type { RoleManagerOptions, RoleOptions } from "./roles/options.js";
export { RoleManager } from "./roles/role-manager.js";
export type {
  RoleDemoteReason,
  RoleEvent,
  RoleManagerStatus,
  RoleMetrics,
  RoleStatus,
} from "./roles/state.js";
export { HeartThreadError } from "./worker/errors.js";
export { workerRenewer, type WorkerRenewerOptions } from "./worker/worker-renewer.js";
