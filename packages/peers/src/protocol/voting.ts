/**
 * The rules of a voter: what it grants, to whom, and what it must write down first. Pure: the state, the request and the
 * time go in, a decision comes out.
 */
import type { SendMoment } from "@tenure/core";
import { compareEpochs } from "./configuration.js";
import type {
  AcquireRequest,
  Configuration,
  Refusal,
  ReleaseRequest,
  RenewRequest,
  Vote,
} from "./messages.js";

/** A vote with what only this life of the process knows of it. */
export interface HeldVote {
  readonly vote: Vote;
  /** When it was granted or renewed; after a restart, the start. Both clocks, by this process alone. */
  readonly since: SendMoment;
  readonly released: boolean;
}

export interface VoterState {
  readonly held: HeldVote | null;
  readonly config: Configuration | null;
}

/** How a voter reckons time. */
export interface VoterTime {
  readonly now: SendMoment;
  readonly bootTickMs: number;
  readonly driftRatio: number;
}

export type VoteDecision =
  | {
      readonly kind: "grant";
      /** On disk before the answer, where it differs from what is there. */
      readonly vote: Vote;
      readonly config?: Configuration;
    }
  | { readonly kind: "refuse"; readonly refusal: Refusal };

/**
 * How long the lease still stands by this voter's clocks: ttl and a margin from the grant. Boot time counts as well as
 * the monotonic clock, which stands still in a suspended machine; neither runs ahead of true time by more than the margin.
 */
export function leaseLeftMs({ vote, since, released }: HeldVote, time: VoterTime): number {
  if (released) return 0;
  const seenMs = Math.max(
    time.now.monotonicMs - since.monotonicMs,
    time.now.bootMs - since.bootMs - time.bootTickMs,
  );
  return Math.max(0, Math.ceil(vote.ttlMs * (1 + time.driftRatio)) - seenMs);
}

export function decideAcquire(state: VoterState, request: AcquireRequest, time: VoterTime): VoteDecision {
  const { held, config } = state;
  const { candidateId, candidateEndpoint, term, ttlMs } = request;
  if (config !== null && config.cluster !== request.cluster) return refuse("other-cluster");
  if (isHeldByAnother(held, candidateId, time)) return refuse("lease-active");
  if (config !== null && compareEpochs(request.epoch, config.epoch) < 0) return refuse("epoch-stale");
  const again = sameGrant(held, candidateId, term);
  if (again?.released === true) return refuse("released");
  if (again === null && held !== null && term <= held.vote.term) return refuse("term-stale");
  // No configuration is taken from a candidate: a candidacy that fails must leave no trace in it.
  return { kind: "grant", vote: voteFor(held, candidateId, candidateEndpoint, term, ttlMs) };
}

/** Only the winner of a term renews: so an equal term is followed too, by those who voted for its loser. */
export function decideRenew(state: VoterState, request: RenewRequest, time: VoterTime): VoteDecision {
  const { held, config } = state;
  const { leaderId, leaderEndpoint, term, ttlMs } = request;
  if (config !== null && config.cluster !== request.config.cluster) return refuse("other-cluster");
  if (sameGrant(held, leaderId, term)?.released === true) return refuse("released");
  if (isHeldByAnother(held, leaderId, time)) return refuse("lease-active");
  if (held !== null && term < held.vote.term) return refuse("not-holder");
  const vote = voteFor(held, leaderId, leaderEndpoint, term, ttlMs);
  const isNewer = config === null || compareEpochs(request.config.epoch, config.epoch) > 0;
  return isNewer ? { kind: "grant", vote, config: request.config } : { kind: "grant", vote };
}

/** From the holder alone, for exactly the term of the vote. It ends the lease; the term stays. */
export function obeysRelease({ held }: VoterState, { leaderId, term }: ReleaseRequest): boolean {
  return sameGrant(held, leaderId, term) !== null;
}

export function isSameVote(a: Vote | undefined, b: Vote): boolean {
  return (
    a !== undefined &&
    a.term === b.term &&
    a.holderId === b.holderId &&
    a.holderEndpoint === b.holderEndpoint &&
    a.ttlMs === b.ttlMs
  );
}

function isHeldByAnother(held: HeldVote | null, identity: string, time: VoterTime): boolean {
  return held !== null && held.vote.holderId !== identity && leaseLeftMs(held, time) > 0;
}

/** What is held, if it was granted to this very holder for this very term. */
function sameGrant(held: HeldVote | null, identity: string, term: number): HeldVote | null {
  return held !== null && held.vote.holderId === identity && held.vote.term === term ? held : null;
}

/** Within one term nothing shortens a lease: its holder may still count on the longer one. */
function voteFor(
  held: HeldVote | null,
  holderId: string,
  holderEndpoint: string,
  term: number,
  ttlMs: number,
): Vote {
  const before = sameGrant(held, holderId, term)?.vote.ttlMs ?? 0;
  return { term, holderId, holderEndpoint, ttlMs: Math.max(ttlMs, before) };
}

function refuse(refusal: Refusal): VoteDecision {
  return { kind: "refuse", refusal };
}
