import { type CallOptions, InvalidRequestError } from "@tenure/core";
import {
  type AcquireRequest,
  type LeaseVerdict,
  type PeerState,
  type PeerTransport,
  type ReleaseRequest,
  type ReleaseVerdict,
  type RenewRequest,
  VOTE_REFUSALS,
} from "../protocol/messages.js";
import { decodeState, encodeConfiguration } from "./codec.js";
import { type CallAnswer, type PeerCalls, RefusedCallError } from "./peer-calls.js";

/** How a peer asks others, over HTTPS. An answer counts only from the server that its certificate names. */
export class HttpTransport implements PeerTransport {
  readonly #calls: PeerCalls;

  constructor(calls: PeerCalls) {
    this.#calls = calls;
  }

  acquire(endpoint: string, request: AcquireRequest, options?: CallOptions): Promise<LeaseVerdict> {
    const { candidateId, candidateEndpoint, term, ttlMs, cluster, epoch } = request;
    const body = {
      candidate_id: candidateId,
      candidate_endpoint: candidateEndpoint,
      term,
      ttl_ms: ttlMs,
      cluster,
      epoch: [epoch.term, epoch.n],
    };
    return this.#verdict(endpoint, "acquire", body, options);
  }

  renew(endpoint: string, request: RenewRequest, options?: CallOptions): Promise<LeaseVerdict> {
    const { leaderId, leaderEndpoint, term, ttlMs, config } = request;
    const body = {
      leader_id: leaderId,
      leader_endpoint: leaderEndpoint,
      term,
      ttl_ms: ttlMs,
      config: encodeConfiguration(config),
    };
    return this.#verdict(endpoint, "renew", body, options);
  }

  async release(endpoint: string, request: ReleaseRequest, options?: CallOptions): Promise<ReleaseVerdict> {
    const body = { leader_id: request.leaderId, term: request.term };
    const path = "/v1/tc/lease/release";
    const answer = await this.#calls.send(endpoint, { method: "POST", path, body, signal: options?.signal });
    if (answer.status !== 200) throw new RefusedCallError(endpoint, answer);
    return { released: answer.body["released"] === true, state: stateIn(endpoint, answer) };
  }

  async state(endpoint: string, options?: CallOptions): Promise<PeerState> {
    const path = "/v1/tc/leader";
    const answer = await this.#calls.send(endpoint, { method: "GET", path, signal: options?.signal });
    if (answer.status !== 200) throw new RefusedCallError(endpoint, answer);
    return stateIn(endpoint, answer);
  }

  async #verdict(
    endpoint: string,
    verb: "acquire" | "renew",
    body: unknown,
    options?: CallOptions,
  ): Promise<LeaseVerdict> {
    const path = `/v1/tc/lease/${verb}`;
    const answer = await this.#calls.send(endpoint, { method: "POST", path, body, signal: options?.signal });
    if (answer.status === 200) return { granted: true, state: stateIn(endpoint, answer) };
    const refusal = VOTE_REFUSALS.find((each) => each === answer.body["refusal"]);
    if (refusal === undefined) throw new RefusedCallError(endpoint, answer);
    return { granted: false, refusal, state: stateIn(endpoint, answer) };
  }
}

function stateIn(endpoint: string, { body, identity }: CallAnswer): PeerState {
  const state = decodeState(body["peer"]);
  if (identity !== null && state.identity !== identity) {
    throw new InvalidRequestError(
      "peer.identity",
      `at ${endpoint} is ${state.identity}, its certificate says ${identity}`,
    );
  }
  return state;
}
