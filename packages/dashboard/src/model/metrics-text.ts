/** Prometheus' text format, as far as the overview reads it. */

export interface Histogram {
  /** Upper bounds and how many were at or below each, both rising; the last bound is infinite. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export interface MetricsSample {
  readonly elections: number;
  readonly openWatches: number;
  readonly waitingCampaigns: number;
  readonly timeToElect: Histogram;
  readonly renewLatency: Histogram;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const RENEW_ROUTES = new Set(["/v1/groups/:group_id/renew", "/v1/renew"]);

export function parseMetrics(text: string): MetricsSample {
  const sums = new Map<string, number>();
  const timeToElect = new Map<number, number>();
  const renewLatency = new Map<number, number>();
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value] = LINE.exec(line) ?? [];
    if (name === "time_to_elect_ms_bucket") add(timeToElect, labelsOf(labels), Number(value));
    else if (name === "request_latency_ms_bucket") {
      const found = labelsOf(labels);
      if (RENEW_ROUTES.has(found.get("route") ?? "")) add(renewLatency, found, Number(value));
    } else if (name !== "") sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  const sum = (name: string): number => sums.get(name) ?? 0;
  return {
    elections: sum("leader_changes_total"),
    openWatches: sum("open_watches"),
    waitingCampaigns: sum("waiting_campaigns"),
    timeToElect: histogram(timeToElect),
    renewLatency: histogram(renewLatency),
  };
}

function labelsOf(text: string): Map<string, string> {
  return new Map([...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]));
}

/** Series of one histogram (by status, by route) add up bucket by bucket. */
function add(buckets: Map<number, number>, labels: ReadonlyMap<string, string>, value: number): void {
  const text = labels.get("le");
  const bound = text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text);
  buckets.set(bound, (buckets.get(bound) ?? 0) + value);
}

function histogram(buckets: ReadonlyMap<number, number>): Histogram {
  const bounds = [...buckets.keys()].sort((a, b) => a - b);
  return { bounds, counts: bounds.map((bound) => buckets.get(bound) ?? 0) };
}

/** What came between two samples. A server that restarted counts from nothing: then all of the later. */
export function since(earlier: Histogram, later: Histogram): Histogram {
  const before = new Map(earlier.bounds.map((bound, i) => [bound, earlier.counts[i] ?? 0]));
  const counts = later.bounds.map((bound, i) => (later.counts[i] ?? 0) - (before.get(bound) ?? 0));
  return { bounds: later.bounds, counts: counts.some((each) => each < 0) ? later.counts : counts };
}

/** Within the bucket in which it falls, as if its values were spread evenly; `null` of nothing. */
export function quantile({ bounds, counts }: Histogram, share: number): number | null {
  const total = counts.at(-1) ?? 0;
  if (total === 0) return null;
  const rank = share * total;
  const at = counts.findIndex((each) => each >= rank);
  const low = at === 0 ? 0 : (bounds[at - 1] ?? 0);
  const high = bounds[at] ?? 0;
  const below = at === 0 ? 0 : (counts[at - 1] ?? 0);
  const inside = (counts[at] ?? 0) - below;
  if (!Number.isFinite(high)) return low;
  return inside === 0 ? high : low + ((high - low) * (rank - below)) / inside;
}
