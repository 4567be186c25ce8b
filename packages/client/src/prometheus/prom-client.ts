/** The caller's own prom-client, and the series that this package creates in it: once per registry, shared by all callers. */
import { InvalidRequestError } from "@tenure/core";
import { checkKeys, isObject } from "@tenure/core/internal";

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
  /** The module of prom-client. */
  readonly client: PromClient;
  /**
   * The registry that the series belong to.
   * @defaultValue the client's own `register`
   */
  readonly registry?: PromRegistry | undefined;
}

/** Creates a series, or returns the existing one of the registry. */
export type MakeMetric = <T>(
  Metric: new (configuration: MetricConfiguration) => T,
  name: string,
  help: string,
  more?: { readonly labels?: readonly string[]; readonly buckets?: number[] },
) => T;

/** `labels`: the labels that all series share. */
export function metricMaker(options: PrometheusMetricsOptions, labels: readonly string[]): MakeMetric {
  if (!isObject(options)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(options, "", ["client", "registry"]);
  const { client, registry = client?.register } = options;
  if (typeof client?.Gauge !== "function" || typeof registry?.getSingleMetric !== "function") {
    throw new InvalidRequestError("client", "must be the module of prom-client");
  }
  return (Metric, name, help, more = {}) => {
    const known = registry.getSingleMetric(name);
    if (known !== undefined) return known as InstanceType<typeof Metric>;
    const { buckets } = more;
    const registers = [registry] as never[];
    const labelNames = [...labels, ...(more.labels ?? [])];
    return new Metric({ name, help, labelNames, registers, ...(buckets === undefined ? {} : { buckets }) });
  };
}
