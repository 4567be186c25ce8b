import { describe, expect, test } from "vitest";
import { type MetricsSample, parseMetrics, quantile, since } from "./metrics-text.js";
import { OverviewSeries } from "./overview-series.js";

const TEXT = `# HELP time_to_elect_ms From a vacancy
# TYPE time_to_elect_ms histogram
time_to_elect_ms_bucket{le="10"} 2
time_to_elect_ms_bucket{le="100"} 4
time_to_elect_ms_bucket{le="+Inf"} 4
time_to_elect_ms_sum 120
time_to_elect_ms_count 4
leader_changes_total{group_id="a, \\"b\\""} 3
leader_changes_total{group_id="other"} 4
renew_failures_total{reason="NOT_LEADER"} 1
request_latency_ms_bucket{le="1",route="/v1/groups/:group_id/renew",method="POST",status="200"} 5
request_latency_ms_bucket{le="+Inf",route="/v1/groups/:group_id/renew",method="POST",status="200"} 6
request_latency_ms_bucket{le="1",route="/v1/renew",method="POST",status="200"} 1
request_latency_ms_bucket{le="+Inf",route="/v1/renew",method="POST",status="200"} 1
request_latency_ms_bucket{le="1",route="/healthz",method="GET",status="200"} 99
store_quorum_health 1
open_watches 7
waiting_campaigns 2
`;

test("metrics are read by name; series are added up, and routes are kept apart", () => {
  expect(parseMetrics(TEXT)).toEqual({
    elections: 7,
    openWatches: 7,
    waitingCampaigns: 2,
    timeToElect: { bounds: [10, 100, Number.POSITIVE_INFINITY], counts: [2, 4, 4] },
    renewLatency: { bounds: [1, Number.POSITIVE_INFINITY], counts: [6, 7] },
  });
});

describe("quantile", () => {
  const histogram = { bounds: [10, 100, Number.POSITIVE_INFINITY], counts: [2, 4, 4] };

  test("a quantile lies within its bucket", () => {
    expect(quantile(histogram, 0.25)).toBe(5);
    expect(quantile(histogram, 0.5)).toBe(10);
    expect(quantile(histogram, 0.75)).toBe(55);
  });

  test("a quantile of no observations is null, and above the last bound it is that bound", () => {
    expect(quantile({ bounds: [10], counts: [0] }, 0.5)).toBeNull();
    expect(quantile({ bounds: [], counts: [] }, 0.5)).toBeNull();
    expect(quantile({ bounds: [10, Number.POSITIVE_INFINITY], counts: [0, 3] }, 0.99)).toBe(10);
  });

  test("a percentile counts only new observations, and all of them after a restart of the server", () => {
    const later = { bounds: histogram.bounds, counts: [2, 6, 7] };
    expect(since(histogram, later).counts).toEqual([0, 2, 3]);
    expect(since(later, histogram).counts).toEqual([2, 4, 4]);
    expect(since({ bounds: [], counts: [] }, histogram).counts).toEqual([2, 4, 4]);
  });
});

describe("OverviewSeries", () => {
  const sample = (elections: number): MetricsSample => ({ ...parseMetrics(TEXT), elections });

  test("the series counts elections of the last minute without extrapolation, and is unknown for the first sample", () => {
    const series = new OverviewSeries();
    for (const [atMs, elections] of [
      [0, 10],
      [30_000, 11],
      [60_000, 14],
      [90_000, 15],
    ] as const) {
      series.add({ atMs, metrics: sample(elections), storeMs: 1 });
    }
    expect(series.points.map((point) => point.electionsPerMinute)).toEqual([null, 1, 4, 4]);
  });

  test("the series has a gap for a missing answer, and holds ten minutes at most", () => {
    const series = new OverviewSeries();
    for (let i = 0; i < 200; i++) {
      series.add({ atMs: i * 5000, metrics: i === 199 ? null : sample(i), storeMs: i === 199 ? null : 2 });
    }
    expect(series.points).toHaveLength(120);
    expect(series.points.at(-1)).toMatchObject({
      electionsPerMinute: null,
      storeMs: null,
      openWatches: null,
    });
    expect(series.points.at(-2)).toMatchObject({ electionsPerMinute: 12, storeMs: 2, openWatches: 7 });
  });
});
