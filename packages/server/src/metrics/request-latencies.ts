import type { Metric, MetricObjectWithValues, MetricValue, Registry } from "prom-client";

const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000];
const NAME = "request_latency_ms";

interface Series {
  readonly labels: { readonly route: string; readonly method: string; readonly status: number };
  /** Per bucket, not cumulative; the last one is for what exceeds every bound. */
  readonly counts: Float64Array;
  sum: number;
}

/** Observes one request of a route. */
export type ObserveRequest = (method: string, status: number, elapsedMs: number) => void;

/**
 * The histogram `request_latency_ms`. That of prom-client checks and hashes its labels at each observation, which costs more
 * than everything else that is measured of a request. Here a series is found once per route, method and status.
 */
export class RequestLatencies {
  readonly #routes = new Map<string, ObserveRequest>();
  readonly #all: Series[] = [];

  constructor(registry: Registry) {
    const metric = {
      name: NAME,
      help: "Time from the arrival of a request to its response, by route.",
      type: "histogram",
      aggregator: "sum",
    };
    // A registry calls `get` of a metric; the type asks for the parts of prom-client's own classes, too.
    const get = async (): Promise<MetricObjectWithValues<MetricValue<string>>> =>
      ({ ...metric, values: this.#all.flatMap(valuesOf) }) as never;
    registry.registerMetric({ ...metric, get } as unknown as Metric);
  }

  of(route: string): ObserveRequest {
    let observe = this.#routes.get(route);
    if (observe === undefined) {
      observe = this.#observer(route);
      this.#routes.set(route, observe);
    }
    return observe;
  }

  #observer(route: string): ObserveRequest {
    const known = new Map<string, Map<number, Series>>();
    return (method, status, elapsedMs) => {
      let byStatus = known.get(method);
      if (byStatus === undefined) known.set(method, (byStatus = new Map<number, Series>()));
      let series = byStatus.get(status);
      if (series === undefined) {
        series = {
          labels: { route, method, status },
          counts: new Float64Array(BUCKETS_MS.length + 1),
          sum: 0,
        };
        byStatus.set(status, series);
        this.#all.push(series);
      }
      const place = BUCKETS_MS.findIndex((bound) => elapsedMs <= bound);
      const bucket = place < 0 ? BUCKETS_MS.length : place;
      series.counts[bucket] = (series.counts[bucket] as number) + 1;
      series.sum += elapsedMs;
    };
  }
}

function valuesOf({ labels, counts, sum }: Series): object[] {
  let count = 0;
  const buckets = [...BUCKETS_MS, "+Inf"].map((le, index) => {
    count += counts[index] as number;
    return { metricName: `${NAME}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: count },
  ];
}
