/**
 * What a service measures. Names and meanings are those that operators know; `group_id` is bounded, so that a million
 * groups do not make a million series.
 */
import type { WatchEvent } from "@tenure/core";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { FollowedChange } from "../attention/monitored-group.js";
import type { WebhookOutcome } from "../webhooks/webhook-sender.js";
import { BusiestLabels } from "./busiest-labels.js";
import { type ObserveRequest, RequestLatencies } from "./request-latencies.js";

const ELECT_BUCKETS_MS = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];
const WRITE_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const FAILOVER_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300];
const MAX_GROUPS = 1000;

export class ServiceMetrics {
  readonly registry = new Registry();
  readonly #groups = new BusiestLabels(MAX_GROUPS, (group_id) => this.#leaderChanges.remove({ group_id }));
  readonly #timeToElect: Histogram;
  readonly #leaderChanges: Counter<"group_id">;
  readonly #renewFailures: Counter<"reason">;
  readonly #requests = new RequestLatencies(this.registry);
  readonly #splitBrains: Counter;
  readonly #failovers: Histogram;
  readonly #storeWrites: Histogram;
  readonly #webhooks: Counter<"outcome">;
  readonly #webhooksDropped: Counter;

  /** `quorum` is asked at each scrape. */
  constructor(quorum: () => Promise<boolean>, open: Readonly<Record<string, () => number>>) {
    const registers = [this.registry];
    this.#timeToElect = new Histogram({
      name: "time_to_elect_ms",
      help: "Time from the end of a leader's lease or its resignation to the next leader of the same group, as observed by this server. The time that a crashed leader was silent before its lease expired is not part of it: see tenure_failover_seconds.",
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
    this.#splitBrains = new Counter({
      name: "split_brain_detected_total",
      help: "Events with two leaders in one term, or a term that decreased. Any value but 0 means that the store is broken.",
      registers,
    });
    this.#failovers = new Histogram({
      name: "tenure_failover_seconds",
      help: "Time from the last renewal or the resignation of a lost leader to the next leader of the same group: no leader may have worked in this time.",
      buckets: FAILOVER_BUCKETS_SECONDS,
      registers,
    });
    this.#storeWrites = new Histogram({
      name: "tenure_store_write_seconds",
      help: "Time of one write to the store, which may contain the changes of many groups, whatever its outcome was.",
      buckets: WRITE_BUCKETS_SECONDS,
      registers,
    });
    this.#webhooks = new Counter({
      name: "tenure_webhook_attempts_total",
      help: "Attempts to deliver a webhook message, by outcome: delivered, failed (and tried again) or dropped (refused by the receiver).",
      labelNames: ["outcome"],
      registers,
    });
    this.#webhooksDropped = new Counter({
      name: "tenure_webhooks_dropped_total",
      help: "Webhook messages that will never be delivered: the receiver refused them, or too many waited.",
      registers,
    });
    this.#gauge(
      "store_quorum_health",
      "1 if the store responds to a linearizable read within 0.8 s, else 0.",
      async () => ((await quorum()) ? 1 : 0),
    );
    for (const [name, count] of Object.entries(open)) {
      this.#gauge(name, `Current number of ${name.replaceAll("_", " ")} of this server.`, count);
    }
  }

  /** How to observe the requests of a route. */
  requestsOf(route: string): ObserveRequest {
    return this.#requests.of(route);
  }

  /** `reason` is a code of the service, or what operators have always called it. */
  renewFailed(reason: string): void {
    this.#renewFailures.inc({ reason: reason === "BACKEND_UNAVAILABLE" ? "BACKEND_DOWN" : reason });
  }

  webhook(outcome: WebhookOutcome): void {
    this.#webhooks.inc({ outcome });
    if (outcome === "dropped") this.#webhooksDropped.inc();
  }

  countWebhooks(waiting: () => number): void {
    this.#gauge("tenure_webhooks_waiting", "Webhook messages that wait for their delivery.", waiting);
  }

  observeStoreWrite(tookMs: number): void {
    this.#storeWrites.observe(tookMs / 1000);
  }

  /** Of the group monitor, for each event. */
  observeChange({ groupId }: WatchEvent, change: FollowedChange): void {
    const { newTerms, electedAfterMs, failoverMs, isSplitBrain } = change;
    if (isSplitBrain) this.#splitBrains.inc();
    if (failoverMs !== null) this.#failovers.observe(failoverMs / 1000);
    if (electedAfterMs !== null) this.#timeToElect.observe(electedAfterMs);
    // Each leader has a term of its own, so the terms count those that were passed unseen too.
    if (newTerms > 0) this.#leaderChanges.inc({ group_id: this.#groups.count(groupId) }, newTerms);
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
