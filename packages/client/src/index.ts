/**
 * The client library of Tenure.
 *
 * `Election` is one participant in the contest for one group, over any `Elector`: a Tenure service by HTTP, or a store
 * directly. `election/election.ts` says what it promises and what not. `openElector` opens the elector that a URL names.
 *
 * `HttpElector` implements `Elector` over a Tenure service: through any of its servers, with one request at a time for
 * each call, and with time limits that leave a leader time before its deadline. It does not decide how long a process
 * may act: `LedTerm` does, counting from before the call.
 *
 * This entry has what a program with one election needs, including what the core defines and every error of an elector
 * and of an election. What only some programs need has an entry of its own: `@tenure/client/roles`, many elections in
 * one process; `/observer`, a group's leader without taking part, and requests for the leader; `/prometheus`, metrics;
 * `/worker`, heartbeats from a thread.
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
  systemClock,
  TenureError,
  TooManyGroupsError,
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
export { lead } from "./election/lead.js";
export type { Leading } from "./election/lead-scope.js";
export type { ElectionOptions } from "./election/election-options.js";
export type { Prepare } from "./election/preparation.js";
export type {
  DemoteReason,
  ElectionEvent,
  ElectionState,
  ElectionStatus,
  KnownLeader,
  LeaseTime,
  Mandate,
} from "./election/state.js";
export type { ElectionMetrics, Logger } from "./election/telemetry.js";
export {
  HttpElectorError,
  RateLimitedError,
  UnauthenticatedError,
  UnexpectedAnswerError,
} from "./http/errors.js";
export { HttpElector } from "./http/http-elector.js";
export type { HttpElectorOptions } from "./http/options.js";
export { openElector, type OpenElectorOptions } from "./open-elector.js";
