/**
 * Counts what a server does, for its samples: requests, renewals, leader changes and failovers. Each call is a few operations on
 * numbers. `take` returns the counts since the last `take`.
 */
import { type Verb, VERBS } from "@tenure/api";
import type { FollowedChange } from "../attention/monitored-group.js";
import { LatencyHistogram } from "./latency-histogram.js";

export interface ActivityCounts {
  readonly requests: number;
  readonly renewals: number;
  readonly leaderChanges: number;
  readonly requestP50Ms: number | null;
  readonly requestP99Ms: number | null;
  readonly failoverP50Ms: number | null;
  readonly failoverMaxMs: number | null;
}

/** Routes and rpcs of verbs that may wait for something to happen: their durations say nothing about the server. */
const WAITING: ReadonlySet<string> = new Set(
  Object.values<Verb>(VERBS).flatMap(({ answers, endsWithCaller, path, rpc }) =>
    answers === "stream" || endsWithCaller === true
      ? [path.replace("{group_id}", ":group_id"), `/tenure.v1.${rpc}`]
      : [],
  ),
);

export class Activity {
  readonly #latencies = new LatencyHistogram();
  readonly #failovers = new LatencyHistogram();
  #requests = 0;
  #renewals = 0;
  #leaderChanges = 0;

  /** How to count the requests of a route, as a transport names it: `/v1/groups/:group_id/renew`, `/tenure.v1.Election/Renew`. */
  requestsOf(route: string): (elapsedMs: number) => void {
    const isWaiting = WAITING.has(route);
    return (elapsedMs) => {
      this.#requests++;
      if (!isWaiting) this.#latencies.record(elapsedMs);
    };
  }

  /** One lease was renewed, by itself or within a batch. */
  renewed(): void {
    this.#renewals++;
  }

  /** Of the group monitor, for each event. */
  leaderChanged({ newTerms, failoverMs }: FollowedChange): void {
    this.#leaderChanges += newTerms;
    if (failoverMs !== null) this.#failovers.record(failoverMs);
  }

  take(): ActivityCounts {
    const counts = {
      requests: this.#requests,
      renewals: this.#renewals,
      leaderChanges: this.#leaderChanges,
      requestP50Ms: this.#latencies.percentile(0.5),
      requestP99Ms: this.#latencies.percentile(0.99),
      failoverP50Ms: this.#failovers.percentile(0.5),
      failoverMaxMs: this.#failovers.maxMs,
    };
    this.#requests = 0;
    this.#renewals = 0;
    this.#leaderChanges = 0;
    this.#latencies.clear();
    this.#failovers.clear();
    return counts;
  }
}
