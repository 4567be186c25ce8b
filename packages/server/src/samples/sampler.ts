/** Takes a sample of the server every 5 s and keeps those of the last hour, so that plots are full when a page opens. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { shapes } from "@tenure/api";
import type { CancelTimer, Clock } from "@tenure/core";
import type { Activity } from "./activity.js";
import { SampleRing } from "./sample-ring.js";

const INTERVAL_MS = 5000;
const KEPT_MS = 3_600_000;
const MINUTE_MS = 60_000;
const LOOP_RESOLUTION_MS = 20;

export interface SamplerDeps {
  readonly clock: Clock;
  readonly activity: Activity;
  /** What is read when a sample is taken. */
  readonly gauges: () => Pick<shapes.Sample, "led" | "vacant" | "watches" | "waiting">;
}

export class Sampler implements AsyncDisposable {
  readonly #deps: SamplerDeps;
  readonly #ring = new SampleRing(KEPT_MS / INTERVAL_MS);
  /** Leader changes of each interval of the last minute. */
  readonly #leaderChanges: number[] = [];
  readonly #eventLoop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  #takenAtMs: number;
  #cancel: CancelTimer | null = null;

  constructor(deps: SamplerDeps) {
    this.#deps = deps;
    this.#takenAtMs = deps.clock.monotonicMs();
  }

  start(): this {
    this.#eventLoop.enable();
    this.#arm();
    return this;
  }

  reply(sinceMs = 0): shapes.SamplesReply {
    return { interval_ms: INTERVAL_MS, samples: this.#ring.since(sinceMs) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel?.();
    this.#eventLoop.disable();
  }

  #arm(): void {
    this.#cancel = this.#deps.clock.after(INTERVAL_MS, () => {
      this.#take();
      this.#arm();
    });
  }

  #take(): void {
    const { clock, activity, gauges } = this.#deps;
    const nowMs = clock.monotonicMs();
    const seconds = (nowMs - this.#takenAtMs) / 1000;
    this.#takenAtMs = nowMs;
    const counts = activity.take();
    this.#leaderChanges.push(counts.leaderChanges);
    if (this.#leaderChanges.length > MINUTE_MS / INTERVAL_MS) this.#leaderChanges.shift();
    this.#ring.add({
      ts_ms: Math.round(clock.wallMs()),
      ...gauges(),
      renewals_per_s: shown(counts.renewals / seconds),
      requests_per_s: shown(counts.requests / seconds),
      request_p50_ms: shownOrNull(counts.requestP50Ms),
      request_p99_ms: shownOrNull(counts.requestP99Ms),
      leader_changes_per_min: this.#leaderChanges.reduce((sum, each) => sum + each, 0),
      failover_p50_ms: shownOrNull(counts.failoverP50Ms),
      failover_max_ms: shownOrNull(counts.failoverMaxMs),
      event_loop_ms: this.#takeEventLoopMs(),
      memory_bytes: process.memoryUsage.rss(),
    });
  }

  /** The longest time that the event loop was blocked: the timer of the monitor fired that much too late. */
  #takeEventLoopMs(): number {
    const longestMs = this.#eventLoop.max / 1e6 - LOOP_RESOLUTION_MS;
    this.#eventLoop.reset();
    return shown(Math.max(0, longestMs));
  }
}

/** Three digits: more would say more than was measured. */
function shown(value: number): number {
  return Number(value.toPrecision(3));
}

function shownOrNull(value: number | null): number | null {
  return value === null ? null : shown(value);
}
