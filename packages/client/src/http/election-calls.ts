/**
 * What a participant asks of the service. All of it may be sent to another server after a lost answer: a campaign by the
 * same instance is confirmed, a renewal by the holder only prolongs, a resign asked again says so again. A late duplicate
 * can hold the group for one more ttl; not asking again would give it up.
 */
import {
  BackendUnavailableError,
  type CampaignResult,
  type Leadership,
  type ParsedCampaign,
  type ParsedRenew,
  type ParsedResign,
  type RenewManyResult,
  type RenewResult,
  type ResignResult,
  TenureError,
  type WatchEvent,
} from "@tenure/core";
import type { CallFailure } from "./call-batcher.js";
import type { Endpoint, Endpoints } from "./endpoints.js";
import { errorOf, isRefusal, type Refusal, UnexpectedAnswerError } from "./errors.js";
import { type CallInput, groupPath, type ServiceCalls } from "./service-calls.js";
import type {
  CampaignManyReply,
  CampaignReply,
  EventReply,
  LeaderReply,
  RenewManyReply,
  RenewReply,
} from "./wire.js";
import * as wire from "./wire.js";

/** The answers show what a leader says of itself only to who asks. */
const FULL = { prefer: "leader-metadata" } as const;

export class ElectionCalls {
  readonly #calls: ServiceCalls;
  readonly #endpoints: Endpoints;

  constructor(calls: ServiceCalls, endpoints: Endpoints) {
    this.#calls = calls;
    this.#endpoints = endpoints;
  }

  async campaign(parsed: ParsedCampaign, signal?: AbortSignal, timeoutMs?: number): Promise<CampaignResult> {
    const { groupId, candidate, waitMs } = parsed;
    const outcome = await this.#calls.call<CampaignReply>(
      {
        method: "POST",
        path: groupPath(groupId, "campaign"),
        body: (elapsedMs) => wire.campaignBody(parsed, elapsedMs),
        headers: FULL,
        resend: "freely",
        waitMs,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        asked: { groupId, ttlMs: candidate.ttlMs },
      },
      signal,
    );
    if (outcome.kind !== "done") throw errorOf(outcome.refusal);
    return wire.campaignResult(outcome.body, parsed, outcome.answered.sentAfterMs);
  }

  /** One alone goes the way of a single one. */
  async campaignMany(
    all: readonly ParsedCampaign[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<readonly (CampaignResult | CallFailure)[]> {
    const [first] = all;
    if (first === undefined) return [];
    if (all.length === 1) return [await this.campaign(first, signal, timeoutMs)];
    const campaigns = all.map((each) => ({ group_id: each.groupId, ...wire.campaignBody(each, 0) }));
    const { results, endpoint } = await this.#many<CampaignManyReply[number]>(
      { path: "/v1/campaign", body: () => ({ campaigns }), timeoutMs },
      all.length,
      signal,
    );
    return all.map((each, index) => {
      const reply = results[index] as CampaignManyReply[number];
      if (!isRefusal(reply)) return wire.campaignResult(reply, each, 0);
      return { kind: "failed", error: this.#refused(reply, each.groupId, each.candidate.ttlMs, endpoint) };
    });
  }

  async renew(parsed: ParsedRenew, timeoutMs: number, signal?: AbortSignal): Promise<RenewResult> {
    const { groupId, ttlMs } = parsed;
    const outcome = await this.#calls.call<RenewReply>(
      {
        method: "POST",
        path: groupPath(groupId, "renew"),
        body: () => wire.renewBody(parsed),
        headers: FULL,
        resend: "freely",
        timeoutMs,
        expect: "NOT_LEADER",
        asked: { groupId, ttlMs },
      },
      signal,
    );
    return outcome.kind === "expected" ? wire.notLeader(outcome.refusal) : wire.renewResult(outcome.body);
  }

  async renewMany(
    all: readonly ParsedRenew[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<readonly RenewManyResult[]> {
    if (all.length === 0) return [];
    const renewals = all.map((each) => ({ group_id: each.groupId, ...wire.renewBody(each) }));
    const { results, endpoint } = await this.#many<RenewManyReply[number]>(
      { path: "/v1/renew", body: () => ({ renewals }), timeoutMs },
      all.length,
      signal,
    );
    return all.map((each, index) => this.#renewed(each, results[index] as RenewManyReply[number], endpoint));
  }

  async resign({ groupId, claim }: ParsedResign, signal?: AbortSignal): Promise<ResignResult> {
    const outcome = await this.#calls.call(
      {
        method: "POST",
        path: groupPath(groupId, "resign"),
        body: () => wire.claimBody(claim),
        resend: "freely",
        expect: "NOT_LEADER",
        asked: { groupId },
      },
      signal,
    );
    return outcome.kind === "expected" ? wire.notLeader(outcome.refusal) : { kind: "resigned" };
  }

  async leader(groupId: string, isLocal: boolean, signal?: AbortSignal): Promise<Leadership> {
    const path = `${groupPath(groupId, "leader")}${isLocal ? "?consistency=local" : ""}`;
    const reply = await this.#calls.ask<LeaderReply>(
      { method: "GET", path, resend: "freely", asked: { groupId } },
      signal,
    );
    return wire.leadership(reply);
  }

  /** By a long poll, which without a cursor is answered at once. */
  async state(groupId: string, signal: AbortSignal): Promise<WatchEvent> {
    const { events, cursor } = await this.#calls.ask<{ events: readonly EventReply[]; cursor: string }>(
      { method: "GET", path: groupPath(groupId, "watch"), resend: "freely", asked: { groupId } },
      signal,
    );
    const [first] = events;
    if (first === undefined) throw new BackendUnavailableError(`the state of ${groupId} was not told`);
    // What has happened since it was read comes along; the state is as of the first.
    return wire.watchEvent(first, Number(cursor) - events.length + 1);
  }

  /** Many in one request: as many answers, each in its place. */
  async #many<T>(
    input: Pick<CallInput, "path" | "body" | "timeoutMs">,
    count: number,
    signal: AbortSignal | undefined,
  ): Promise<{ results: readonly T[]; endpoint: Endpoint }> {
    const outcome = await this.#calls.call<{ results: readonly T[] }>(
      { method: "POST", headers: FULL, resend: "freely", ...input },
      signal,
    );
    if (outcome.kind !== "done") throw errorOf(outcome.refusal);
    const { endpoint } = outcome.answered;
    const { results } = outcome.body;
    if (Array.isArray(results) && results.length === count) return { results, endpoint };
    throw new UnexpectedAnswerError(`${endpoint.url.origin} did not answer each part of ${input.path}`);
  }

  #renewed(
    { groupId, ttlMs }: ParsedRenew,
    reply: RenewManyReply[number],
    endpoint: Endpoint,
  ): RenewManyResult {
    if (reply.ok) return wire.renewResult(reply);
    if (reply.error === "NOT_LEADER") return wire.notLeader(reply);
    const error = this.#refused(reply, groupId, ttlMs, endpoint);
    if (error instanceof TenureError) return { kind: "failed", error };
    throw error;
  }

  /** Of one among many. */
  #refused(refusal: Refusal, groupId: string, ttlMs: number, endpoint: Endpoint): Error {
    const error = errorOf(refusal, { groupId, ttlMs });
    // It says nothing of the lease; the next request goes to another server.
    if (error instanceof BackendUnavailableError) this.#endpoints.failed(endpoint);
    return error;
  }
}
