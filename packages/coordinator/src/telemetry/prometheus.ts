import { childOf, type CoordinatorMessage, listen, reasonOf } from "./telemetry.js";

/** The part of prom-client that is used here; the caller gives its own. */
export interface PrometheusClient {
  readonly Counter: new (options: SeriesOptions) => { inc(labels: Labels): void };
  readonly Gauge: new (options: SeriesOptions) => { set(labels: Labels, value: number): void };
}

type Labels = Record<string, string>;

interface SeriesOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers?: never[];
}

export interface CoordinatorMetricsOptions {
  readonly client: PrometheusClient;
  /** Where the series are registered. @defaultValue the client's own registry */
  readonly registry?: unknown;
}

/** Counts every event and shows who leads, until the returned function is called. */
export function coordinatorMetrics({ client, registry }: CoordinatorMetricsOptions): () => void {
  const registers = registry === undefined ? {} : { registers: [registry] as never[] };
  const events = new client.Counter({
    name: "coordinator_events_total",
    help: "Events of the coordinator election, by event and reason; those of a child by its id.",
    labelNames: ["event", "node", "reason", "child"],
    ...registers,
  });
  const leads = new client.Gauge({
    name: "coordinator_is_leader",
    help: "1 while this node is the coordinator.",
    labelNames: ["node"],
    ...registers,
  });
  return listen(({ event, metadata }: CoordinatorMessage) => {
    const node = String(metadata["node"]);
    events.inc({ event, node, reason: reasonOf({ event, metadata }), ...childOf({ metadata }) });
    if (event === "became_leader") leads.set({ node }, 1);
    if (event === "lost_leadership" || event === "election_started") leads.set({ node }, 0);
  });
}
