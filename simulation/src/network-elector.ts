/**
 * An elector as one client process sees it over the network: each call goes to any server, calls are lost and late,
 * watches break. Each answer that grants a lease is recorded, so that the deadline of the process is known from
 * outside.
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
import type { ProcessClock, Random } from "@tenure/core/testing";
import { type Environment, isExpected } from "./environment.js";
import type { GrantedTime } from "./granted-time.js";
import { CallLost, type NetworkCall } from "./network.js";

const TIMEOUT_MS = 3000;
/** Among faults a connection of a watch lasts this long. */
const WATCH_MS = [200, 6000] as const;

export class NetworkElector implements Elector {
  readonly #environment: Environment;
  readonly #clock: ProcessClock;
  readonly #random: Random;
  readonly #granted: GrantedTime;
  /** Called after each answer that may have given the process more time. */
  onAnswered: () => void = () => {};

  constructor(environment: Environment, clock: ProcessClock, random: Random, granted: GrantedTime) {
    this.#environment = environment;
    this.#clock = clock;
    this.#random = random;
    this.#granted = granted;
  }

  /** As over HTTP: a long wait is a sequence of short ones, so that a lost answer costs no more than one of them. */
  async campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    const { internal, clientParts } = this.#environment.modules;
    const sent = sendMoment(this.#clock);
    const result = await clientParts.waitInSlices(
      this.#clock,
      internal.parseCampaign(request),
      ({ waitMs }) => this.#campaignOnce({ ...request, waitMs }, options),
    );
    if (result.kind === "elected")
      this.#granted.add(result.leader.term, { sent, ttlMs: request.ttlMs, waitedMs: result.waitedMs });
    return result;
  }

  #campaignOnce(request: CampaignRequest, options: CallOptions | undefined): Promise<CampaignResult> {
    const { checks } = this.#environment;
    return this.#call(options, {
      campaign: request,
      timeoutMs: TIMEOUT_MS + (request.waitMs ?? 0),
      run: (elector, callOptions) => elector.campaign(request, callOptions),
      onAnswer: (result, arrivedMs, answeredMs) =>
        checks.onAnswer({ verb: "campaign", request, result, arrivedMs, answeredMs }),
    });
  }

  async renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    const { checks } = this.#environment;
    const sent = sendMoment(this.#clock);
    const result = await this.#call(options, {
      run: (elector, callOptions) => elector.renew(request, callOptions),
      onAnswer: (answer, arrivedMs, answeredMs) =>
        checks.onAnswer({ verb: "renew", request, result: answer, arrivedMs, answeredMs }),
    });
    if (result.kind === "renewed") this.#granted.add(request.term, { sent, ttlMs: request.ttlMs });
    else this.#granted.end(request.term);
    return result;
  }

  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#call(options, { run: (elector, callOptions) => elector.renewMany(requests, callOptions) });
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    const { checks } = this.#environment;
    checks.onResignSent(request);
    this.#granted.end(request.term);
    return this.#call(options, {
      run: (elector, callOptions) => elector.resign(request, callOptions),
      onAnswer: (result, arrivedMs, answeredMs) =>
        checks.onAnswer({ verb: "resign", request, result, arrivedMs, answeredMs }),
    });
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#call(options, { run: (elector, callOptions) => elector.leader(groupId, callOptions) });
  }

  async *watch(
    groupId: string,
    { cursor, signal }: WatchOptions = {},
  ): AsyncGenerator<WatchEvent, undefined> {
    const { network, servers, time } = this.#environment;
    const { process } = this.#random.pick(servers);
    await this.#travel(signal);
    if (process === null || !process.clock.isRunning || network.isCutOff(this.#clock))
      throw this.#unavailable("connection refused");
    const connection = new AbortController();
    let forget = () => {};
    const lost = new Promise<"lost">((resolve) => {
      const lose = () => resolve("lost");
      const forgetCrash = process.onCrash(lose);
      signal?.addEventListener("abort", lose, { once: true });
      forget = () => {
        forgetCrash();
        signal?.removeEventListener("abort", lose);
      };
      if (network.faults.lossRate > 0)
        time.after(this.#random.between(...WATCH_MS), () => this.#clock.pass(() => resolve("lost")));
    });
    const watch = process.elector.watch(groupId, { cursor, signal: connection.signal });
    const events = watch[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await Promise.race([
          events.next().catch((error: unknown) => this.#toBackendError(error)),
          lost,
        ]);
        await this.#travel(signal);
        if (next === "lost" || network.isCutOff(this.#clock)) throw this.#unavailable("connection reset");
        if (next instanceof Error) throw next;
        if (next.done === true) throw this.#unavailable("the watch ended");
        yield next.value;
      }
    } finally {
      forget();
      process.clock.pass(() => connection.abort(new CallLost("hung up")));
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A message on its way to this process. */
  #travel(signal: AbortSignal | undefined): Promise<void> {
    const { time } = this.#environment;
    return new Promise((resolve, reject) => {
      time.after(this.#random.between(0.5, 15), () =>
        this.#clock.pass(() => (signal?.aborted === true ? reject(signal.reason as Error) : resolve())),
      );
    });
  }

  async #call<T>(
    options: CallOptions | undefined,
    call: Pick<NetworkCall<T>, "run" | "onAnswer" | "campaign"> & { readonly timeoutMs?: number },
  ): Promise<T> {
    const { network, servers, checks, time } = this.#environment;
    const signal = options?.signal;
    try {
      return await network.call<T>({
        ...call,
        timeoutMs: call.timeoutMs ?? TIMEOUT_MS,
        from: this.#clock,
        server: this.#random.pick(servers),
        ...(signal === undefined ? {} : { signal }),
        onError: (error) => {
          if (!isExpected(this.#environment, error)) checks.unexpected(error);
        },
      });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason as Error;
      throw this.#toBackendError(error);
    } finally {
      // By then the election has processed the answer.
      time.after(0, () => this.onAnswered());
    }
  }

  /** As over HTTP: a server that closes and a call that is lost are an unavailable backend. */
  #toBackendError(error: unknown): Error {
    const { TenureError } = this.#environment.modules.core;
    if (error instanceof TenureError && error.code !== "CLOSED") return error;
    return this.#unavailable("the server did not answer", error);
  }

  #unavailable(message: string, cause?: unknown): Error {
    const { BackendUnavailableError } = this.#environment.modules.core;
    return new BackendUnavailableError(message, { cause });
  }
}
