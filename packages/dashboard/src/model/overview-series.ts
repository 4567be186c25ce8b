/** What the overview plots: samples of the service's metrics, one after the other, and what lies between them. */
import { type MetricsSample, quantile, since } from "./metrics-text.js";

export interface Point {
  readonly atMs: number;
  readonly electionsPerMinute: number | null;
  readonly failoverP50: number | null;
  readonly failoverP99: number | null;
  readonly renewP50: number | null;
  readonly renewP99: number | null;
  readonly renewsPerSecond: number | null;
  /** `null`: no answer. */
  readonly storeMs: number | null;
  readonly openWatches: number | null;
  readonly waitingCampaigns: number | null;
}

/** Ten minutes, five seconds apart. */
const MAX_POINTS = 120;
/** Quantiles are of the last minute: five seconds hold too few elections to speak of a share of them. */
const WINDOW_MS = 60_000;

interface Sample {
  readonly atMs: number;
  /** `null`: the service did not answer, or refused. */
  readonly metrics: MetricsSample | null;
  readonly storeMs: number | null;
}

export class OverviewSeries {
  readonly #samples: Sample[] = [];
  #points: readonly Point[] = [];

  get points(): readonly Point[] {
    return this.#points;
  }

  add(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > MAX_POINTS) this.#samples.shift();
    this.#points = [...this.#points.slice(1 - MAX_POINTS), this.#pointOf(sample)];
  }

  #pointOf({ atMs, metrics, storeMs }: Sample): Point {
    const from = this.#samples.find((each) => each.metrics !== null && atMs - each.atMs <= WINDOW_MS);
    const earlier = from?.metrics ?? null;
    const open = {
      openWatches: metrics?.openWatches ?? null,
      waitingCampaigns: metrics?.waitingCampaigns ?? null,
    };
    if (metrics === null || earlier === null || from === undefined || from.atMs === atMs) {
      return { atMs, ...NOTHING, storeMs, ...open };
    }
    const elections = metrics.elections - earlier.elections;
    const elected = since(earlier.timeToElect, metrics.timeToElect);
    const renewed = since(earlier.renewLatency, metrics.renewLatency);
    const passedMs = atMs - from.atMs;
    return {
      atMs,
      // Not made out of less than a minute: two elections in the first second are not 120 in the first minute.
      electionsPerMinute:
        ((elections < 0 ? metrics.elections : elections) * WINDOW_MS) / Math.max(passedMs, WINDOW_MS),
      failoverP50: quantile(elected, 0.5),
      failoverP99: quantile(elected, 0.99),
      renewP50: quantile(renewed, 0.5),
      renewP99: quantile(renewed, 0.99),
      renewsPerSecond: ((renewed.counts.at(-1) ?? 0) * 1000) / passedMs,
      storeMs,
      ...open,
    };
  }
}

const NOTHING = {
  electionsPerMinute: null,
  failoverP50: null,
  failoverP99: null,
  renewP50: null,
  renewP99: null,
  renewsPerSecond: null,
} as const;
