import { parseMetrics } from "../model/metrics-text.js";
import type { OverviewSeries } from "../model/overview-series.js";
import { type Api, RefusedError } from "./api.js";

export type StoreHealth = "unknown" | "answers" | "silent";

/** One sample of what the overview plots: the service's metrics, and how long its store takes to answer. */
export class Sampler {
  store: StoreHealth = "unknown";
  /** Why there are no metrics, where the service refuses them. */
  refusal: string | null = null;
  readonly #api: Pick<Api, "text" | "get">;
  readonly #series: OverviewSeries;

  constructor(api: Pick<Api, "text" | "get">, series: OverviewSeries) {
    this.#api = api;
    this.#series = series;
  }

  async sample(): Promise<void> {
    const storeMs = await this.#storeMs();
    const metrics = await this.#api.text("/metrics").then(
      (text) => {
        this.refusal = null;
        return parseMetrics(text);
      },
      (error: unknown) => {
        if (error instanceof RefusedError) this.refusal = error.message;
        return null;
      },
    );
    this.#series.add({ atMs: Date.now(), metrics, storeMs });
  }

  /** While the server is lost: the lines have a gap there. */
  miss(): void {
    this.store = "unknown";
    this.#series.add({ atMs: Date.now(), metrics: null, storeMs: null });
  }

  /** Being ready is nothing but one linearizable read of the store, so its answer takes as long as that. */
  async #storeMs(): Promise<number | null> {
    const startedMs = performance.now();
    try {
      await this.#api.get("/readyz");
      this.store = "answers";
      return performance.now() - startedMs;
    } catch (error) {
      this.store = error instanceof RefusedError ? "silent" : "unknown";
      return null;
    }
  }
}
