/**
 * The rules of a voter: what it grants, to which candidate, and what it must store first. Pure: the state, the request
 * and the time go in, a decision comes out.
 */
import type { SendMoment } from "@tenure/core";
import { compareEpochs, memberOf } from "./configuration.js";
import type {
  AcquireRequest,
  Configuration,
  Epoch,
  ReleaseRequest,
  RenewRequest,
  Vote,
  VoteRefusal,
} from "./messages.js";

/** A vote, with what only this run of the process knows of it. */
export interface HeldVote {
  readonly vote: Vote;
  /** When it was granted or renewed; after a restart, the start. On both clocks of this process. */
  readonly since: SendMoment;
  readonly released: boolean;
}

export interface VoterState {
  readonly held: HeldVote | null;
  readonly config: Configuration | null;
  /** The ttl of this voter's own leases; it grants no lease that is longer. */
  readonly ttlMs: number;
}

/**
 * How far a term may be above the highest that this peer has granted. Terms rise by one per election, so no peer was
 * away for that long. A higher term is refused, because terms never fall again and end at the largest safe integer.
 */
export const MAX_TERM_JUMP: number = 2 ** 32;

/** How a voter measures time. */
export interface VoterTime {
  readonly now: SendMoment;
  readonly bootTickMs: number;
  readonly driftRatio: number;
}

export type VoteDecision =
  | {
      readonly kind: "grant";
      /** Stored before the answer, if it differs from what is stored. */
      readonly vote: Vote;
      readonly config?: Configuration;
    }
  | { readonly kind: "refuse"; readonly refusal: VoteRefusal };

/**
 * How long the lease still stands by this voter's clocks: ttl and a margin from the grant. Boot time counts as well as
 * the monotonic clock, which stands still while the machine is suspended; neither runs ahead of true time by more than
 * the margin.
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
  const { candidateId, candidateEndpoint, term, ttlMs, epoch } = request;
  if (config !== null && config.cluster !== request.cluster) return refuse("other-cluster");
  const absurdity = absurdityOf(state, term, ttlMs);
  if (absurdity !== null) return refuse(absurdity);
  if (isHeldByAnother(held, candidateId, time)) return refuse("lease-active");
  if (config !== null && compareEpochs(epoch, config.epoch) < 0) return refuse("epoch-stale");
  const again = sameGrant(held, candidateId, term);
  if (again?.released === true) return refuse("released");
  if (again === null && held !== null && term <= held.vote.term) return refuse("term-stale");
  // A candidate campaigns for a term above all that it has seen, hence above that of its electorate.
  if (epoch.term >= term) return refuse("term-absurd");
  if (isStranger(config, candidateId, epoch)) return refuse("not-an-elector");
  // No configuration is taken from a candidate: a failed candidacy must leave no trace in it.
  return { kind: "grant", vote: voteFor(held, candidateId, candidateEndpoint, term, ttlMs) };
}

/**
 * Only the winner of a term renews. So voters that voted for the loser of a term also follow a renewal with an equal
 * term.
 */
export function decideRenew(state: VoterState, request: RenewRequest, time: VoterTime): VoteDecision {
  const { held, config } = state;
  const { leaderId, leaderEndpoint, term, ttlMs } = request;
  const { epoch, members } = request.config;
  if (config !== null && config.cluster !== request.config.cluster) return refuse("other-cluster");
  const absurdity = absurdityOf(state, term, ttlMs);
  if (absurdity !== null) return refuse(absurdity);
  if (sameGrant(held, leaderId, term)?.released === true) return refuse("released");
  if (isHeldByAnother(held, leaderId, time)) return refuse("lease-active");
  if (held !== null && term < held.vote.term) return refuse("not-holder");
  if (epoch.term > term) return refuse("term-absurd");
  // A leader never removes itself.
  if (memberOf(members, leaderId) === undefined || isStranger(config, leaderId, epoch)) {
    return refuse("not-an-elector");
  }
  const vote = voteFor(held, leaderId, leaderEndpoint, term, ttlMs);
  const isNewer = config === null || compareEpochs(epoch, config.epoch) > 0;
  return isNewer ? { kind: "grant", vote, config: request.config } : { kind: "grant", vote };
}

/** Only from the holder, and only for exactly the term of the vote. It ends the lease; the term stays. */
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

/** What no correct candidate or leader asks for. */
function absurdityOf({ held, ttlMs: ownTtlMs }: VoterState, term: number, ttlMs: number): VoteRefusal | null {
  if (term > (held?.vote.term ?? 0) + MAX_TERM_JUMP) return "term-absurd";
  return ttlMs > ownTtlMs ? "ttl-too-long" : null;
}

/** This voter's electorate does not contain the caller, and the caller knows no newer one. */
function isStranger(config: Configuration | null, identity: string, epoch: Epoch): boolean {
  if (config === null || memberOf(config.members, identity) !== undefined) return false;
  return compareEpochs(epoch, config.epoch) <= 0;
}

function isHeldByAnother(held: HeldVote | null, identity: string, time: VoterTime): boolean {
  return held !== null && held.vote.holderId !== identity && leaseLeftMs(held, time) > 0;
}

/** The held vote, if it was granted to this holder for this term. */
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

function refuse(refusal: VoteRefusal): VoteDecision {
  return { kind: "refuse", refusal };
}
