/** Tells other programs about changes of leaders, and about findings that start and end. */
import { readFileSync } from "node:fs";
import { eventShape, type Finding, findingShape } from "@tenure/api";
import { type Clock, InvalidRequestError, type WatchEvent } from "@tenure/core";
import type { Logger } from "pino";
import type { ServiceMetrics } from "../metrics/service-metrics.js";
import { type WebhookMessage, WebhookSender } from "./webhook-sender.js";

export interface WebhookOptions {
  readonly urls: readonly string[];
  readonly secretFile: string;
}

export interface WebhookDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ServiceMetrics;
  /** Ends the deliveries; what still waits is lost. */
  readonly signal: AbortSignal;
}

const MIN_SECRET_LENGTH = 16;

export class Webhooks {
  readonly #senders: readonly WebhookSender[];
  readonly #clock: Clock;

  private constructor(senders: readonly WebhookSender[], clock: Clock) {
    this.#senders = senders;
    this.#clock = clock;
  }

  /** Without URLs nothing is sent. */
  static open(options: WebhookOptions | null, { clock, log, metrics, signal }: WebhookDeps): Webhooks {
    const secret = options === null ? "" : readSecret(options.secretFile);
    const senders = (options?.urls ?? []).map(
      (url) =>
        new WebhookSender({
          url,
          secret,
          clock,
          log,
          onOutcome: (outcome) => metrics.webhook(outcome),
        }),
    );
    for (const sender of senders) void sender.run(signal);
    metrics.countWebhooks(() => senders.reduce((sum, { waiting }) => sum + waiting, 0));
    return new Webhooks(senders, clock);
  }

  /** Of the watch over all groups. A RESYNC is a state and no change. */
  changed(event: WatchEvent): void {
    const { type, groupId, term, tsMs } = event;
    if (this.#senders.length === 0 || type === "RESYNC") return;
    const name = type === "LEADER_CHANGED" ? "leader.changed" : "leader.lost";
    this.#send({
      id: `${name}:${groupId}:${term}`,
      type: name,
      ts_ms: tsMs,
      event: eventShape(groupId, event),
    });
  }

  found(finding: Finding, change: "started" | "ended"): void {
    if (this.#senders.length === 0) return;
    const { kind, severity, groupId, sinceMs } = finding;
    const id = `attention.${change}:${kind}:${severity}:${groupId ?? ""}:${sinceMs ?? ""}`;
    const ts_ms = Math.round(this.#clock.wallMs());
    this.#send({ id, type: `attention.${change}`, ts_ms, finding: findingShape(finding) });
  }

  #send(message: WebhookMessage): void {
    for (const sender of this.#senders) sender.send(message);
  }
}

function readSecret(path: string): string {
  let secret: string;
  try {
    secret = readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new InvalidRequestError(path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (secret.length >= MIN_SECRET_LENGTH) return secret;
  throw new InvalidRequestError(
    path,
    `contains ${secret.length} characters; a webhook secret has at least ${MIN_SECRET_LENGTH}`,
  );
}
