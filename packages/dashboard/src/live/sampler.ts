import type { Sample, SamplesReply } from "../model/wire.js";
import { type Api, RefusedError } from "./api.js";

export type StoreHealth = "unknown" | "answers" | "silent";

/** As long as a server keeps them. */
const KEPT_MS = 3_600_000;

/** What the overview plots: the samples that the server keeps, and how long its store takes to answer. */
export class Sampler {
  store: StoreHealth = "unknown";
  /** How long one linearizable read took, with the way to the server and back. */
  storeMs: number | null = null;
  samples: readonly Sample[] = [];
  intervalMs = 0;
  /** Why there are no samples, where the service refuses them. */
  refusal: string | null = null;
  readonly #api: Pick<Api, "get">;

  constructor(api: Pick<Api, "get">) {
    this.#api = api;
  }

  async sample(): Promise<void> {
    this.storeMs = await this.#askStore();
    const lastMs = this.samples.at(-1)?.ts_ms ?? 0;
    try {
      const reply = await this.#api.get<SamplesReply>(`/v1/samples?since_ms=${lastMs}`);
      const fresh = reply.samples.filter(({ ts_ms }) => ts_ms > lastMs);
      const fromMs = (fresh.at(-1)?.ts_ms ?? lastMs) - KEPT_MS;
      if (fresh.length > 0) this.samples = [...this.samples, ...fresh].filter(({ ts_ms }) => ts_ms >= fromMs);
      this.intervalMs = reply.interval_ms;
      this.refusal = null;
    } catch (error) {
      if (error instanceof RefusedError) this.refusal = error.message;
    }
  }

  /** While the server is lost. */
  miss(): void {
    [this.store, this.storeMs] = ["unknown", null];
  }

  /** Being ready is nothing but one linearizable read of the store, so its answer takes as long as that. */
  async #askStore(): Promise<number | null> {
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
