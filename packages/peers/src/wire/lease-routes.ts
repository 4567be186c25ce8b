import type { Clock } from "@tenure/core";
import type { FastifyInstance } from "fastify";
import type { LeaseVerdict, PeerState, VoteRefusal } from "../protocol/messages.js";
import type { Peer } from "../protocol/peer.js";
import { Body } from "./body.js";
import type { Callers } from "./callers.js";
import type { Offices } from "./offices.js";
import { decodeConfiguration, decodeEpoch, encodeState } from "./codec.js";
import { OWN_IDENTITY } from "./route.js";
import { type WireCode, WireError } from "./wire-error.js";

export interface LeaseRouteParts {
  /** Throws `tc_unavailable` while this server has not begun to take part. */
  readonly peer: () => Peer;
  readonly callers: Callers;
  readonly offices: Offices;
  readonly clock: Clock;
}

const REFUSED: Readonly<Record<VoteRefusal, readonly [WireCode, string]>> = {
  "lease-active": ["tc_lease_active", "another's lease is live"],
  "term-stale": ["tc_term_stale", "a higher term has been granted"],
  "epoch-stale": ["tc_term_stale", "a newer electorate is known here"],
  "other-cluster": ["tc_forbidden", "this server belongs to another cluster"],
  "not-holder": ["tc_not_leader", "the vote of this server is another's"],
  released: ["tc_term_stale", "this term was released"],
  "term-absurd": [
    "invalid_term",
    "the term is so far above every term known here, or so far below that of its electorate, that no election has led to it",
  ],
  "ttl-too-long": [
    "invalid_ttl",
    "the lease of this server is shorter: start all servers with the same --tc-ttl",
  ],
  "not-an-elector": ["tc_forbidden", "the electorate that is known here does not name the caller"],
};

export function leaseRoutes(app: FastifyInstance, { peer, callers, offices, clock }: LeaseRouteParts): void {
  const shown = (state: PeerState): object => {
    const { lease } = state;
    return {
      leader_id: lease?.leaderId ?? null,
      leader_endpoint: lease?.leaderEndpoint ?? null,
      term: lease?.term ?? state.term,
      expires_at: lease === null ? null : Math.round(clock.wallMs() + lease.leftMs),
      peer: encodeState(state),
    };
  };
  const told = (verdict: LeaseVerdict, yes: "granted" | "renewed"): object => {
    if (verdict.granted) return { [yes]: true, ...shown(verdict.state) };
    const [code, detail] = REFUSED[verdict.refusal];
    const holder = verdict.state.lease?.leaderEndpoint;
    throw new WireError(code, detail, {
      ...(holder === undefined ? {} : { leader_endpoint: holder }),
      [yes]: false,
      refusal: verdict.refusal,
      peer: encodeState(verdict.state),
    });
  };

  app.post("/v1/tc/lease/acquire", OWN_IDENTITY, async ({ raw, body: given }) => {
    callers.client(raw.socket);
    const body = new Body(given, [
      "candidate_id",
      "candidate_endpoint",
      "term",
      "ttl_ms",
      "cluster",
      "epoch",
    ]);
    const candidateId = body.id("candidate_id");
    const request = {
      candidateId,
      candidateEndpoint: body.endpoint("candidate_endpoint"),
      term: body.term("term"),
      ttlMs: body.ttlMs("ttl_ms"),
      cluster: body.text("cluster"),
      epoch: decodeEpoch(body.required("epoch"), "epoch"),
    };
    offices.candidate(raw.socket, candidateId, request.cluster);
    return told(await peer().answers.acquire(request), "granted");
  });

  app.post("/v1/tc/lease/renew", OWN_IDENTITY, async ({ raw, body: given }) => {
    callers.client(raw.socket);
    const body = new Body(given, ["leader_id", "leader_endpoint", "term", "ttl_ms", "config"]);
    const leaderId = body.id("leader_id");
    const request = {
      leaderId,
      leaderEndpoint: body.endpoint("leader_endpoint"),
      term: body.term("term"),
      ttlMs: body.ttlMs("ttl_ms"),
      config: decodeConfiguration(body.required("config"), "config"),
    };
    offices.candidate(raw.socket, leaderId, request.config.cluster);
    return told(await peer().answers.renew(request), "renewed");
  });

  app.post("/v1/tc/lease/release", OWN_IDENTITY, async ({ raw, body: given }) => {
    callers.client(raw.socket);
    const body = new Body(given, ["leader_id", "term"]);
    const request = { leaderId: body.id("leader_id"), term: body.term("term") };
    callers.self(raw.socket, request.leaderId);
    const { released, state } = await peer().answers.release(request);
    return { released, peer: encodeState(state) };
  });

  app.get("/v1/tc/leader", OWN_IDENTITY, async ({ raw }) => {
    callers.client(raw.socket);
    const observed = peer().observedLeader();
    const state = peer().answers.state();
    const isShown = observed !== null && state.lease?.term === observed.term;
    return {
      leader_id: observed?.leaderId ?? null,
      leader_endpoint: observed?.leaderEndpoint ?? null,
      term: observed?.term ?? state.term,
      expires_at: isShown ? Math.round(clock.wallMs() + (state.lease?.leftMs ?? 0)) : null,
      peer: encodeState(state),
    };
  });
}
