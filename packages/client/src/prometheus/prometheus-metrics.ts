/**
 * The series of elections, in the caller's own prom-client. They are created once per registry; any number of elections
 * share them, with the labels `group` and `node`.
 */
import type { ElectionMetrics } from "../election/telemetry.js";
import { metricMaker, type PrometheusMetricsOptions } from "./prom-client.js";

/** Buckets from a service on the same machine to one that barely answers in time. */
const HEARTBEAT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Buckets from a leadership that failed at once to one of a month. */
const LEADER_SECONDS = [1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400];

/** Metrics of elections, for the option `metrics`, in the registry of your own prom-client. */
export function prometheusMetrics(options: PrometheusMetricsOptions): ElectionMetrics {
  const make = metricMaker(options, ["group", "node"]);
  const { Gauge, Counter, Histogram } = options.client;
  const isLeader = make(Gauge, "election_is_leader", "1 while this process leads the group, else 0");
  const connectionStatus = make(Gauge, "election_connection_status", "1 while the elector answers, else 0");
  const transitions = make(Counter, "election_transitions_total", "Changes of an election's state", {
    labels: ["from", "to"],
  });
  const failures = make(Counter, "election_failures_total", "Calls to the elector that failed, by code", {
    labels: ["code"],
  });
  const attempts = make(Counter, "election_acquire_attempts_total", "Campaigns, by how they ended", {
    labels: ["outcome"],
  });
  const invalid = make(
    Counter,
    "election_token_validation_failures_total",
    "Times that the store named another leader or term",
  );
  const heartbeats = make(Histogram, "election_heartbeat_duration_seconds", "How long renewals took", {
    labels: ["outcome"],
    buckets: HEARTBEAT_SECONDS,
  });
  const durations = make(Histogram, "election_leader_duration_seconds", "How long leaderships lasted", {
    buckets: LEADER_SECONDS,
  });
  const overdue = make(
    Gauge,
    "election_work_overdue_seconds",
    "For how long overdue work has run on after its signal, else 0",
  );
  return {
    isLeader: (labels, leads) => isLeader.set({ ...labels }, leads ? 1 : 0),
    connectionStatus: (labels, status) => connectionStatus.set({ ...labels }, status === "connected" ? 1 : 0),
    transition: (labels, from, to) => transitions.inc({ ...labels, from, to }),
    failure: (labels, code) => failures.inc({ ...labels, code }),
    acquireAttempt: (labels, outcome) => attempts.inc({ ...labels, outcome }),
    tokenValidationFailure: (labels) => invalid.inc({ ...labels }),
    heartbeat: (labels, outcome, seconds) => heartbeats.observe({ ...labels, outcome }, seconds),
    leaderDuration: (labels, seconds) => durations.observe({ ...labels }, seconds),
    workOverdue: (labels, seconds) => overdue.set({ ...labels }, seconds),
  };
}
