/**
 * The `HttpElector` of a client process as one `Election` uses it. Each answer that grants a lease is recorded, so that
 * the deadline of the process is known from outside.
 */
import {
  type CallOptions,
  type CampaignRequest,
  type CampaignResult,
  type Elector,
  type LeaderOptions,
  type Leadership,
  type RenewManyResult,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  sendMoment,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import type { ProcessClock } from "@tenure/core/testing";
import type { Environment } from "../environment.js";
import type { GrantedTime } from "../granted-time.js";

export class HttpWitness implements Elector {
  readonly #environment: Environment;
  readonly #elector: Elector;
  readonly #clock: ProcessClock;
  readonly #granted: GrantedTime;
  onAnswered: () => void = () => {};

  constructor(environment: Environment, elector: Elector, clock: ProcessClock, granted: GrantedTime) {
    this.#environment = environment;
    this.#elector = elector;
    this.#clock = clock;
    this.#granted = granted;
  }

  async campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    const sent = sendMoment(this.#clock);
    const result = await this.#told(this.#elector.campaign(request, options));
    if (result.kind === "elected")
      this.#granted.add(result.leader.term, { sent, ttlMs: request.ttlMs, waitedMs: result.waitedMs });
    return result;
  }

  async renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    const sent = sendMoment(this.#clock);
    const result = await this.#told(this.#elector.renew(request, options));
    if (result.kind === "renewed") this.#granted.add(request.term, { sent, ttlMs: request.ttlMs });
    else this.#granted.end(request.term);
    return result;
  }

  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#elector.renewMany(requests, options);
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    this.#environment.checks.onResignSent(request);
    this.#granted.end(request.term);
    return this.#told(this.#elector.resign(request, options));
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#told(this.#elector.leader(groupId, options));
  }

  watch(groupId: string, options?: WatchOptions): AsyncIterable<WatchEvent> {
    return this.#elector.watch(groupId, options);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #told<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } finally {
      // By then the election has processed the answer.
      this.#environment.time.after(0, () => this.onAnswered());
    }
  }
}
