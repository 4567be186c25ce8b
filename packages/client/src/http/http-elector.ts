/**
 * An elector that asks a Tenure service by HTTP.
 *
 * Promised: what `Elector` promises, as far as the service keeps it, through any of its servers; one request at a time
 * for each call; an aborted call closes its connection, so that a waiting campaign leaves the queue; every call ends in
 * time (a renewal within a third of its ttl, a campaign within half of it beyond its wait); a waiting campaign notices
 * within half a ttl, at least 2.5 s, that its server has stopped answering, and continues at another. Not promised:
 * that a failed call was not carried out. A caller whose campaign was aborted asks `leader`, and resigns if it is the
 * leader.
 *
 * After `BackendUnavailableError` the outcome is unknown; its cause says what each server answered. Errors that core
 * has no class for are an `HttpElectorError`.
 */
import { pathOf } from "@tenure/api";
import {
  type CallOptions,
  type CampaignRequest,
  type CampaignResult,
  ClosedError,
  type ElectorAdmin,
  type LeaderOptions,
  type Leadership,
  type RenewManyResult,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  type WatchAllOptions,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import {
  checkId,
  checkInteger,
  parseCampaign,
  parseRenew,
  parseRenewMany,
  parseResign,
  type ParsedCampaign,
  type ParsedRenew,
  iterate,
  LinkedController,
} from "@tenure/core/internal";
import { CallBatcher } from "./call-batcher.js";
import type { Carrier } from "./carrier.js";
import { Credentials } from "./credentials.js";
import { campaignBytes, ElectionCalls } from "./election-calls.js";
import { Endpoints } from "./endpoints.js";
import { eventStream } from "./event-stream.js";
import { SOCKETS } from "./exchange.js";
import { GroupWatches } from "./group-watches.js";
import { HttpOperator } from "./http-operator.js";
import { type HttpElectorOptions, type ParsedOptions, parseOptions } from "./options.js";
import { parsePatience } from "./patience.js";
import { ServiceCalls } from "./service-calls.js";
import { SharedWatches } from "./shared-watches.js";
import { campaignLimitMs, renewalLimitMs } from "./time-limits.js";
import { TlsMaterial } from "./tls-material.js";
import { Transport, type TransportParts } from "./transport.js";
import { waitInSlices } from "./wait-in-slices.js";

/** The elector over the servers of one Tenure service, for participants and operators. */
export class HttpElector extends HttpOperator implements ElectorAdmin {
  readonly #options: ParsedOptions;
  readonly #parts: TransportParts;
  readonly #transport: Transport;
  readonly #calls: ServiceCalls;
  readonly #election: ElectionCalls;
  /** `null`: each campaign is sent separately. */
  readonly #campaigns: CallBatcher<ParsedCampaign, CampaignResult> | null;
  readonly #renewals: CallBatcher<ParsedRenew, RenewResult> | null;
  readonly #watches: GroupWatches;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | null = null;

  /** Reads the files that the options name; sends nothing to the service yet. */
  static open(given: HttpElectorOptions): Promise<HttpElector> {
    return HttpElector.over(SOCKETS, given);
  }

  /** @internal */
  static async over(carrier: Carrier, given: HttpElectorOptions): Promise<HttpElector> {
    const options = parseOptions(given);
    const { clock, random, connectTimeoutMs } = options;
    const credentials = await Credentials.open(options.token, options.tokenFile, clock);
    const tls = await TlsMaterial.open(options.tls, clock);
    const endpoints = new Endpoints(options.endpoints, clock, random);
    return new HttpElector(options, { carrier, endpoints, credentials, tls, clock, connectTimeoutMs });
  }

  private constructor(options: ParsedOptions, parts: TransportParts) {
    const { clock, requestTimeoutMs, batch, batchWindowMs } = options;
    const transport = new Transport(parts);
    const calls = new ServiceCalls(transport, requestTimeoutMs);
    super(calls);
    this.#options = options;
    this.#parts = parts;
    this.#transport = transport;
    this.#calls = calls;
    this.#election = new ElectionCalls(this.#calls, parts.endpoints);
    const batching = { clock, windowMs: batchWindowMs };
    this.#campaigns = batch
      ? new CallBatcher({
          ...batching,
          bytesOf: campaignBytes,
          send: (campaigns, timeoutMs, signal) => this.#election.campaignMany(campaigns, timeoutMs, signal),
        })
      : null;
    this.#renewals = batch
      ? new CallBatcher<ParsedRenew, RenewResult>({
          ...batching,
          send: (renewals, timeoutMs, signal) => this.#election.renewMany(renewals, timeoutMs, signal),
        })
      : null;
    const shared = new SharedWatches({ parts, random: options.random, timeoutMs: requestTimeoutMs });
    this.#watches = new GroupWatches({
      join: (subscription) => shared.join(subscription),
      state: (groupId, signal) => this.#election.state(groupId, signal),
    });
  }

  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    return this.run(options, () => {
      const parsed = parseCampaign(request);
      if (parsed.waitMs > 0) return this.#wait(parsed, options?.signal);
      return this.#campaigns === null
        ? this.#election.campaign(parsed, options?.signal)
        : this.#campaigns.call(parsed, this.#campaignMs(parsed.candidate.ttlMs), options?.signal);
    });
  }

  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    return this.run(options, () => {
      const parsed = parseRenew(request);
      const timeoutMs = this.#renewalMs(parsed.ttlMs);
      return this.#renewals === null
        ? this.#election.renew(parsed, timeoutMs, options?.signal)
        : this.#renewals.call(parsed, timeoutMs, options?.signal);
    });
  }

  renewMany(all: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.run(options, () => {
      const parsed = parseRenewMany(all);
      const timeoutMs = Math.min(...parsed.map(({ ttlMs }) => this.#renewalMs(ttlMs)));
      return this.#election.renewMany(parsed, timeoutMs, options?.signal);
    });
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    return this.run(options, () => this.#election.resign(parseResign(request), options?.signal));
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.run(options, () =>
      this.#election.leader(checkId(groupId, "groupId"), options?.consistency === "local", options?.signal),
    );
  }

  /** As in `Elector`, but it continues by itself after every break: no temporary failure ends it. */
  watch(groupId: string, options: WatchOptions = {}): AsyncIterable<WatchEvent> {
    checkId(groupId, "groupId");
    const parsed = {
      cursor: checkCursor(options.cursor),
      patience: parsePatience(options),
      onContact: options.onContact ?? ignored,
    };
    return iterate([options.signal, this.#closing.signal], ({ signal }) =>
      this.#watches.watch(groupId, parsed, signal),
    );
  }

  /** States are delivered together: none of them is `partial`. */
  watchAll(given: WatchAllOptions = {}): AsyncIterable<WatchEvent> {
    const { statesAfter, maySee, onContact = ignored, signal: own } = given;
    const number = checkCursor(given.cursor);
    const patience = parsePatience(given);
    const { random, requestTimeoutMs: timeoutMs } = this.#options;
    const mark = statesAfter?.resync === true ? "!" : "@";
    const cursor = statesAfter === undefined ? number : `${number ?? 0}${mark}${statesAfter.groupId}`;
    const options = { parts: this.#parts, random, path: pathOf("watchAll"), cursor, maySee, timeoutMs };
    return iterate([own, this.#closing.signal], ({ signal }) =>
      eventStream({ ...options, patience, onContact, signal }),
    );
  }

  /** Waiting campaigns leave their queues and are answered `lost`; other calls in progress are waited for. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(new ClosedError("this elector is closed"));
    this.#campaigns?.flush();
    this.#renewals?.flush();
    while (this.#underWay.size > 0) await Promise.allSettled([...this.#underWay]);
    await this.#calls.settled();
    this.#transport.close();
  }

  /** Async, so that a malformed request rejects rather than throws. */
  protected async run<T>(options: CallOptions | undefined, work: () => Promise<T>): Promise<T> {
    options?.signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const working = work();
    this.#underWay.add(working);
    try {
      return await working;
    } finally {
      this.#underWay.delete(working);
    }
  }

  /** A wait ends when this elector closes: it hangs up and answers with the current leader. */
  async #wait(parsed: ParsedCampaign, given: AbortSignal | undefined): Promise<CampaignResult> {
    const { clock } = this.#options;
    const timeoutMs = this.#campaignMs(parsed.candidate.ttlMs);
    try {
      return await this.unlessClosed(given, (signal) =>
        waitInSlices(clock, parsed, (slice) => this.#election.campaign(slice, signal, timeoutMs)),
      );
    } catch (error) {
      if (error !== this.#closing.signal.reason) throw error;
      const { leader } = await this.#election.leader(parsed.groupId, false, given).catch(() => {
        throw error;
      });
      return { kind: "lost", leader, retryAfterMs: 0 };
    }
  }

  protected async unlessClosed<T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ending = new LinkedController(signal, this.#closing.signal);
    try {
      return await work(ending.signal);
    } finally {
      ending.unlink();
    }
  }

  #renewalMs(ttlMs: number): number {
    return renewalLimitMs(ttlMs, this.#options.requestTimeoutMs);
  }

  #campaignMs(ttlMs: number): number {
    return campaignLimitMs(ttlMs, this.#options.requestTimeoutMs);
  }
}

function checkCursor(cursor: unknown): number | undefined {
  return cursor === undefined ? undefined : checkInteger(cursor, "cursor", 0, Number.MAX_SAFE_INTEGER);
}

function ignored(): void {}
