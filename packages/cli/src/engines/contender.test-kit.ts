import { sleep, systemClock } from "@tenure/core";
import type { Answer, Api } from "../api.test-kit.js";
import type { Ledger, Tenure } from "./ledger.test-kit.js";

const DRIFT_RATIO = 0.01;
const WAIT_MS = 1000;
const RETRY_MS = 50;

export interface ContenderOptions {
  readonly api: Api;
  readonly groupId: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  readonly renewMs: number;
  /** After this many renewals it resigns and campaigns again. */
  readonly renewals: number;
}

/** A participant like a careful client: it counts its deadline from before the request, and stops by itself. */
export class Contender {
  readonly #options: ContenderOptions;
  readonly #ledger: Ledger;

  constructor(options: ContenderOptions, ledger: Ledger) {
    this.#options = options;
    this.#ledger = ledger;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { api, groupId, nodeId, ttlMs } = this.#options;
    while (!signal.aborted) {
      const sentMs = performance.now();
      const answer = await answered(api.campaign(groupId, nodeId, ttlMs, WAIT_MS));
      if (answer?.body.is_leader !== true) {
        if (answer?.status !== 200) await sleep(systemClock, RETRY_MS);
        continue;
      }
      const nowMs = performance.now();
      const waitedMs = (answer.body.waited_ms ?? 0) * (1 - 2 * DRIFT_RATIO);
      const untilMs = Math.min(sentMs + waitedMs, nowMs) + ttlMs * (1 - DRIFT_RATIO);
      const term = answer.body.leader?.term ?? 0;
      if (untilMs > nowMs) await this.#lead(this.#ledger.won(groupId, nodeId, term, nowMs, untilMs), signal);
      await answered(api.resign(groupId, nodeId, term));
    }
  }

  /** Until it has renewed often enough, gets NOT_LEADER, or its deadline has passed. */
  async #lead(tenure: Tenure, signal: AbortSignal): Promise<void> {
    const { api, ttlMs, renewMs } = this.#options;
    for (let left = this.#options.renewals; left > 0 && !signal.aborted;) {
      await sleep(systemClock, renewMs);
      const sentMs = performance.now();
      if (sentMs >= tenure.untilMs) return;
      const answer = await answered(api.renew(tenure.groupId, tenure.nodeId, tenure.term, ttlMs));
      const nowMs = performance.now();
      if (answer?.status === 409) {
        tenure.untilMs = Math.min(tenure.untilMs, nowMs);
        return;
      }
      // An answer after the deadline extends nothing.
      if (nowMs >= tenure.untilMs) return;
      if (answer?.status !== 200) continue;
      left--;
      this.#ledger.renewals++;
      tenure.untilMs = Math.max(tenure.untilMs, sentMs + ttlMs * (1 - DRIFT_RATIO));
    }
    tenure.untilMs = Math.min(tenure.untilMs, performance.now());
  }
}

/** `null`: no server answered. */
async function answered(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch {
    return null;
  }
}
