/**
 * The calls of a participant to the service. All of them may be sent again after a lost answer, as the table of verbs
 * says. A late duplicate can hold the group for one more ttl; not retrying would give the group up.
 */
import * as api from "@tenure/api";
import type { shapes } from "@tenure/api";
import {
  BackendUnavailableError,
  type CampaignResult,
  type Leadership,
  type RenewManyResult,
  type RenewResult,
  type ResignResult,
  TenureError,
  type WatchEvent,
} from "@tenure/core";
import { LIMITS, type ParsedCampaign, type ParsedRenew, type ParsedResign } from "@tenure/core/internal";
import type { CallFailure } from "./call-batcher.js";
import type { Endpoint, Endpoints } from "./endpoints.js";
import { errorOf, isRefusal, type Refusal, UnexpectedAnswerError } from "./errors.js";
import type { CallInput, ServiceCalls } from "./service-calls.js";

/** One result of many: an answer or a refusal. */
type OneOf<T> = T | (Refusal & { readonly ok: false });

export class ElectionCalls {
  readonly #calls: ServiceCalls;
  readonly #endpoints: Endpoints;

  constructor(calls: ServiceCalls, endpoints: Endpoints) {
    this.#calls = calls;
    this.#endpoints = endpoints;
  }

  async campaign(parsed: ParsedCampaign, signal?: AbortSignal, timeoutMs?: number): Promise<CampaignResult> {
    const { groupId, candidate, waitMs } = parsed;
    const outcome = await this.#calls.call<shapes.CampaignReply>(
      {
        verb: "campaign",
        groupId,
        body: (elapsedMs) => api.campaignBody(parsed, elapsedMs),
        waitMs,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ttlMs: candidate.ttlMs,
      },
      signal,
    );
    if (outcome.kind !== "done") throw errorOf(outcome.refusal);
    return api.campaignResult(outcome.body, parsed, outcome.answered.sentAfterMs);
  }

  /** A single campaign is sent as a normal campaign. */
  async campaignMany(
    all: readonly ParsedCampaign[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<readonly (CampaignResult | CallFailure)[]> {
    const [first] = all;
    if (first === undefined) return [];
    if (all.length === 1) return [await this.campaign(first, signal, timeoutMs)];
    const campaigns = all.map((each) => ({ group_id: each.groupId, ...api.campaignBody(each, 0) }));
    const { results, endpoint } = await this.#many<OneOf<shapes.CampaignReply>>(
      { verb: "campaignMany", body: () => ({ campaigns }), timeoutMs },
      all.length,
      signal,
    );
    return all.map((each, index) => {
      const reply = results[index] as OneOf<shapes.CampaignReply>;
      if (!isRefusal(reply)) return api.campaignResult(reply, each, 0);
      return { kind: "failed", error: this.#refused(reply, each.groupId, each.candidate.ttlMs, endpoint) };
    });
  }

  async renew(parsed: ParsedRenew, timeoutMs: number, signal?: AbortSignal): Promise<RenewResult> {
    const { groupId, ttlMs } = parsed;
    const outcome = await this.#calls.call<shapes.RenewReply>(
      {
        verb: "renew",
        groupId,
        body: () => api.renewBody(parsed),
        timeoutMs,
        expect: "NOT_LEADER",
        ttlMs,
      },
      signal,
    );
    return outcome.kind === "expected" ? api.notLeaderOf(outcome.refusal) : api.renewResult(outcome.body);
  }

  async renewMany(
    all: readonly ParsedRenew[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<readonly RenewManyResult[]> {
    if (all.length === 0) return [];
    const renewals = all.map((each) => ({ group_id: each.groupId, ...api.renewBody(each) }));
    const { results, endpoint } = await this.#many<OneOf<shapes.RenewReply>>(
      { verb: "renewMany", body: () => ({ renewals }), timeoutMs },
      all.length,
      signal,
    );
    return all.map((each, index) =>
      this.#renewed(each, results[index] as OneOf<shapes.RenewReply>, endpoint),
    );
  }

  async resign(parsed: ParsedResign, signal?: AbortSignal): Promise<ResignResult> {
    const { groupId } = parsed;
    const body = () => api.resignBody(parsed);
    const outcome = await this.#calls.call({ verb: "resign", groupId, body, expect: "NOT_LEADER" }, signal);
    return outcome.kind === "expected" ? api.notLeaderOf(outcome.refusal) : { kind: "resigned" };
  }

  async leader(groupId: string, isLocal: boolean, signal?: AbortSignal): Promise<Leadership> {
    const query = isLocal ? { consistency: "local" } : {};
    return api.leadershipOf(await this.#calls.ask({ verb: "leader", groupId, query }, signal));
  }

  /** Uses a long poll, which is answered at once without a cursor. */
  async state(groupId: string, signal: AbortSignal): Promise<WatchEvent> {
    const { events, cursor } = await this.#calls.ask<shapes.EventsReply>({ verb: "watch", groupId }, signal);
    const [first] = events;
    if (first === undefined)
      throw new BackendUnavailableError(`the service sent no state of group ${groupId}`);
    // Events since the state was read come along; the state is as of the first of them.
    return api.watchEvent(first, Number(cursor) - events.length + 1);
  }

  /** Many requests in one: as many answers, in the same order. */
  async #many<T>(
    input: Pick<CallInput, "verb" | "body" | "timeoutMs">,
    count: number,
    signal: AbortSignal | undefined,
  ): Promise<{ results: readonly T[]; endpoint: Endpoint }> {
    const outcome = await this.#calls.call<{ results: readonly T[] }>(input, signal);
    if (outcome.kind !== "done") throw errorOf(outcome.refusal);
    const { endpoint } = outcome.answered;
    const { results } = outcome.body;
    if (Array.isArray(results) && results.length === count) return { results, endpoint };
    throw new UnexpectedAnswerError(`${endpoint.url.origin} did not answer each part of ${input.verb}`);
  }

  #renewed(
    { groupId, ttlMs }: ParsedRenew,
    reply: OneOf<shapes.RenewReply>,
    endpoint: Endpoint,
  ): RenewManyResult {
    if (reply.ok) return api.renewResult(reply);
    if (reply.error === "NOT_LEADER") return api.notLeaderOf(reply);
    const error = this.#refused(reply, groupId, ttlMs, endpoint);
    if (error instanceof TenureError) return { kind: "failed", error };
    throw error;
  }

  /** The refusal of one request among many. */
  #refused(refusal: Refusal, groupId: string, ttlMs: number, endpoint: Endpoint): Error {
    const error = errorOf(refusal, { groupId, ttlMs });
    // This shows nothing about the lease; the next request goes to another server.
    if (error instanceof BackendUnavailableError) this.#endpoints.failed(endpoint);
    return error;
  }
}

/** The minimum size of a campaign in a request of many: three ids, three numbers, their names, and its metadata. */
export function campaignBytes({ candidate: { metadata } }: ParsedCampaign): number {
  return 3 * LIMITS.idLength + 200 + (metadata === null ? 0 : Buffer.byteLength(JSON.stringify(metadata)));
}
