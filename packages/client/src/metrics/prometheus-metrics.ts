/**
 * The series of elections, in the caller's own prom-client. Ours are made once per registry: any number of elections
 * share them, told apart by `group` and `node`.
 */
import { checkKeys, InvalidRequestError, isObject } from "@tenure/core";
import type { ElectionMetrics } from "../election/telemetry.js";

type Labels = Record<string, string>;

interface MetricConfiguration {
  name: string;
  help: string;
  labelNames: string[];
  registers: never[];
  buckets?: number[];
}

/** The part of a registry of prom-client that is used here. */
export interface PromRegistry {
  getSingleMetric(name: string): unknown;
}

/** The part of prom-client that is used here: `import client from "prom-client"`. */
export interface PromClient {
  readonly Gauge: new (configuration: MetricConfiguration) => { set(labels: Labels, value: number): void };
  readonly Counter: new (configuration: MetricConfiguration) => { inc(labels: Labels): void };
  readonly Histogram: new (configuration: MetricConfiguration) => {
    observe(labels: Labels, value: number): void;
  };
  readonly register: PromRegistry;
}

export interface PrometheusMetricsOptions {
  readonly client: PromClient;
  /** The client's own `register` by default. */
  readonly registry?: PromRegistry | undefined;
}

/** From a service on the same machine to one that hardly answers in time. */
const HEARTBEAT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** From a leadership that failed at once to one of a month. */
const LEADER_SECONDS = [1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400];

/** Metrics of elections, for the option `metrics`, in the registry of your own prom-client. */
export function prometheusMetrics(options: PrometheusMetricsOptions): ElectionMetrics {
  if (!isObject(options)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(options, "", ["client", "registry"]);
  const { client, registry = client?.register } = options;
  if (typeof client?.Gauge !== "function" || typeof registry?.getSingleMetric !== "function") {
    throw new InvalidRequestError("client", "must be the module of prom-client");
  }
  const make = <T>(
    Metric: new (configuration: MetricConfiguration) => T,
    name: string,
    help: string,
    more: { labels?: readonly string[]; buckets?: number[] } = {},
  ): T => {
    const known = registry.getSingleMetric(name);
    if (known !== undefined) return known as T;
    const { labels = [], buckets } = more;
    const registers = [registry] as never[];
    const labelNames = ["group", "node", ...labels];
    return new Metric({ name, help, labelNames, registers, ...(buckets === undefined ? {} : { buckets }) });
  };
  const { Gauge, Counter, Histogram } = client;
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
