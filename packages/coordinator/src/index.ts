/**
 * The coordinator of Tenure: an application's singleton processes follow the leadership.
 *
 * `CoordinatorCandidate` campaigns on each eligible node; on the leader, `Supervisor` runs the children. Both files
 * begin with what they promise and what not.
 */
export {
  BackendUnavailableError,
  type Clock,
  ClosedError,
  type ElectionOptions,
  type Elector,
  type ElectorAdmin,
  InvalidRequestError,
  openElector,
  systemClock,
  TenureError,
  type WatchEvent,
} from "@tenure/client";
export { CoordinatorCandidate, type CandidateState } from "./candidate/coordinator-candidate.js";
export { type CoordinatorEnvironment, readEnvironment } from "./candidate/environment.js";
export type { CoordinatorOptions } from "./candidate/options.js";
export { GuardedCommand, type GuardedOptions } from "./guardian/guarded-command.js";
export type { CommandEnd } from "./guardian/messages.js";
export { ClusterHealth, type ClusterHealthOptions, type HealthChange } from "./health/cluster-health.js";
export { PollGate } from "./polls/poll-gate.js";
export {
  type Dispatch,
  type Poll,
  PollOrchestrator,
  type PollOrchestratorOptions,
  type PollOutcome,
  type PollResult,
} from "./polls/poll-orchestrator.js";
export { rendezvous } from "@tenure/core/internal";
export type { ChildContext, ChildOptions, ChildSpec, Restart, RunningChild } from "./supervisor/child.js";
export { functionChild, serviceChild } from "./supervisor/function-child.js";
export { processChild, type ProcessChildOptions } from "./supervisor/process-child.js";
export type { RestartLimitOptions } from "./supervisor/restart-limit.js";
export type { ChildEnd } from "./supervisor/slot.js";
export {
  type ChildEvent,
  type Strategy,
  Supervisor,
  type SupervisorEnd,
  type SupervisorOptions,
} from "./supervisor/supervisor.js";
export { STOP_MESSAGE, workerChild, type WorkerChildOptions } from "./supervisor/worker-child.js";
export { coordinatorTelemetry, type TelemetryApi } from "./telemetry/opentelemetry.js";
export {
  coordinatorMetrics,
  type CoordinatorMetricsOptions,
  type PrometheusClient,
} from "./telemetry/prometheus.js";
export {
  channelName,
  COORDINATOR_EVENTS,
  type CoordinatorEvent,
  type CoordinatorMessage,
  listen,
} from "./telemetry/telemetry.js";
