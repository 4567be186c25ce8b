/**
 * Delivers messages to one URL, one after the other in their order. A message that is not accepted is sent again, after pauses that
 * double from 1 s to 60 s; a refusal (4xx) is final. At most 1,000 messages wait: the oldest is dropped for a new one. Nothing here
 * is awaited by an election or a request.
 */
import { createHmac } from "node:crypto";
import { type Clock, sleep } from "@tenure/core";
import { onAbort, within } from "@tenure/core/internal";
import type { Logger } from "pino";

export interface WebhookMessage {
  /** The same for every attempt, and at every server that reports the same event. */
  readonly id: string;
  readonly type: "leader.changed" | "leader.lost" | "attention.started" | "attention.ended";
  readonly ts_ms: number;
  readonly [field: string]: unknown;
}

export interface WebhookSenderOptions {
  readonly url: string;
  readonly secret: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onOutcome: (outcome: WebhookOutcome) => void;
}

/** `dropped`: never to be sent again. */
export type WebhookOutcome = "delivered" | "failed" | "dropped";

const MAX_WAITING = 1000;
const ANSWER_MS = 5000;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** Refusals that may pass. */
const TEMPORARY = new Set([408, 425, 429]);

export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #waiting: WebhookMessage[] = [];
  #wake = (): void => {};
  #isFailing = false;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  send(message: WebhookMessage): void {
    if (this.#waiting.length === MAX_WAITING) {
      this.#waiting.shift();
      this.#options.onOutcome("dropped");
    }
    this.#waiting.push(message);
    this.#wake();
  }

  /** Delivers until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onOutcome } = this.#options;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const [message] = this.#waiting;
      if (message === undefined) {
        await this.#next(signal);
        continue;
      }
      const outcome = await this.#attempt(message, signal);
      if (signal.aborted) return;
      onOutcome(outcome);
      if (outcome === "failed") {
        await sleep(clock, pauseMs, signal).catch(() => {});
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
        continue;
      }
      pauseMs = FIRST_PAUSE_MS;
      // It may have been dropped for a newer one meanwhile.
      if (this.#waiting[0] === message) this.#waiting.shift();
    }
  }

  async #attempt(message: WebhookMessage, signal: AbortSignal): Promise<WebhookOutcome> {
    const { url, secret, clock } = this.#options;
    const body = JSON.stringify(message);
    const headers = {
      "content-type": "application/json",
      "user-agent": "tenure",
      "tenure-signature": webhookSignature(secret, body, clock.wallMs()),
    };
    const late = (): Error => new Error(`no response within ${ANSWER_MS} ms`);
    try {
      const status = await within(clock, { limitMs: ANSWER_MS, signal, late }, async (limit) => {
        const answer = await fetch(url, { method: "POST", headers, body, signal: limit, redirect: "manual" });
        await answer.body?.cancel();
        return answer.status;
      });
      return this.#judge(status);
    } catch (error) {
      if (!signal.aborted) this.#failed(reasonOf(error));
      return "failed";
    }
  }

  #judge(status: number): WebhookOutcome {
    if (status >= 200 && status < 300) {
      if (this.#isFailing) this.#options.log.info({ url: this.#place }, "webhook accepts messages again");
      this.#isFailing = false;
      return "delivered";
    }
    this.#failed(`status ${status}`);
    return status >= 300 && status < 500 && !TEMPORARY.has(status) ? "dropped" : "failed";
  }

  /** One line for a series of failures. */
  #failed(reason: string): void {
    if (!this.#isFailing) this.#options.log.warn({ url: this.#place, reason }, "webhook failed; retrying");
    this.#isFailing = true;
  }

  /** Without its query, which may contain a secret. */
  get #place(): string {
    const { origin, pathname } = new URL(this.#options.url);
    return origin + pathname;
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const stop = onAbort(signal, () => this.#wake());
      this.#wake = () => {
        stop();
        resolve();
      };
    });
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== "" ? `${message}: ${cause.message}` : message;
}

/**
 * The value of the header `tenure-signature`: the time of sending in seconds since 1970, and the HMAC-SHA256 of that time, a dot and
 * the body, in hex. A receiver computes the same over the bytes that it received, and refuses an old time.
 */
function webhookSignature(secret: string, body: string, wallMs: number): string {
  const seconds = Math.floor(wallMs / 1000);
  const mac = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${mac}`;
}
