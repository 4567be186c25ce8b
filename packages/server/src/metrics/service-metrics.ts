/**
 * What a service measures. Names and meanings are those that operators know; `group_id` is bounded, so that a million
 * groups do not make a million series.
 */
import type { Clock, WatchEvent } from "@tenure/core";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { BusiestLabels } from "./busiest-labels.js";

const LATENCY_BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000];
const ELECT_BUCKETS_MS = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];
const MAX_GROUPS = 1000;

interface Followed {
  readonly term: number;
  readonly leaderNodeId: string | null;
  /** On the monotonic clock; `null` while led. */
  readonly vacantSinceMs: number | null;
}

export class ServiceMetrics {
  readonly registry = new Registry();
  readonly #clock: Clock;
  readonly #groups = new BusiestLabels(MAX_GROUPS, (group_id) => this.#leaderChanges.remove({ group_id }));
  readonly #followed = new Map<string, Followed>();
  readonly #timeToElect: Histogram;
  readonly #leaderChanges: Counter<"group_id">;
  readonly #renewFailures: Counter<"reason">;
  readonly #requestLatency: Histogram<"route" | "method" | "status">;
  /** Of `requestLatency`: as many as there are routes and statuses. */
  readonly #requestSeries = new Map<string, Histogram.Internal<"route" | "method" | "status">>();
  readonly #splitBrains: Counter;

  /** `quorum` is asked at each scrape. */
  constructor(clock: Clock, quorum: () => Promise<boolean>, open: Readonly<Record<string, () => number>>) {
    this.#clock = clock;
    const registers = [this.registry];
    this.#timeToElect = new Histogram({
      name: "time_to_elect_ms",
      help: "Time from the loss of a leader to the next leader of the same group, as observed by this server.",
      buckets: ELECT_BUCKETS_MS,
      registers,
    });
    this.#leaderChanges = new Counter({
      name: "leader_changes_total",
      help: `New leaders, by group (the ${MAX_GROUPS} busiest, the rest as "other").`,
      labelNames: ["group_id"],
      registers,
    });
    this.#renewFailures = new Counter({
      name: "renew_failures_total",
      help: "Renewals that were refused or failed, by reason.",
      labelNames: ["reason"],
      registers,
    });
    this.#requestLatency = new Histogram({
      name: "request_latency_ms",
      help: "Time from the arrival of a request to its response, by route.",
      labelNames: ["route", "method", "status"],
      buckets: LATENCY_BUCKETS_MS,
      registers,
    });
    this.#splitBrains = new Counter({
      name: "split_brain_detected_total",
      help: "Events with two leaders in one term, or a term that decreased. Any value but 0 means that the store is broken.",
      registers,
    });
    this.#gauge("store_quorum_health", "1 if the store responds to a linearizable read, else 0.", async () =>
      (await quorum()) ? 1 : 0,
    );
    for (const [name, count] of Object.entries(open)) {
      this.#gauge(name, `Current number of ${name.replaceAll("_", " ")} of this server.`, count);
    }
  }

  /** Called for every request, so each series is looked up by its labels once. */
  observeRequest(route: string, method: string, status: number, elapsedMs: number): void {
    const name = `${status} ${method} ${route}`;
    let series = this.#requestSeries.get(name);
    if (series === undefined) {
      series = this.#requestLatency.labels({ route, method, status });
      this.#requestSeries.set(name, series);
    }
    series.observe(elapsedMs);
  }

  /** `reason` is a code of the service, or what operators have always called it. */
  renewFailed(reason: string): void {
    this.#renewFailures.inc({ reason: reason === "BACKEND_UNAVAILABLE" ? "BACKEND_DOWN" : reason });
  }

  /** Each event of the watch over all groups, in its order. */
  follow({ groupId, term, leaderNodeId, type }: WatchEvent): void {
    const known = this.#followed.get(groupId);
    const nowMs = this.#clock.monotonicMs();
    // The state of a group that is new to this server is no change of it.
    const newTerms = known === undefined ? (type === "LEADER_CHANGED" ? 1 : 0) : term - known.term;
    if (known !== undefined) {
      const isOther =
        leaderNodeId !== null && known.leaderNodeId !== null && leaderNodeId !== known.leaderNodeId;
      if (newTerms < 0 || (newTerms === 0 && isOther)) this.#splitBrains.inc();
      // After a RESYNC the time of the election is not known.
      if (type === "LEADER_CHANGED" && newTerms > 0 && known.vacantSinceMs !== null) {
        this.#timeToElect.observe(nowMs - known.vacantSinceMs);
      }
    }
    // Each leader has a term of its own, so the terms count those that were passed unseen too.
    if (newTerms > 0) this.#leaderChanges.inc({ group_id: this.#groups.count(groupId) }, newTerms);
    this.#followed.set(groupId, {
      term: Math.max(term, known?.term ?? 0),
      leaderNodeId: leaderNodeId ?? (newTerms > 0 ? null : (known?.leaderNodeId ?? null)),
      vacantSinceMs: leaderNodeId === null ? ((newTerms > 0 ? null : known?.vacantSinceMs) ?? nowMs) : null,
    });
  }

  /** Asked at each scrape. */
  #gauge(name: string, help: string, value: () => number | Promise<number>): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.registry],
      collect: async () => gauge.set(await value()),
    });
  }
}
