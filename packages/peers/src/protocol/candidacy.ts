/** One candidacy, from the vote for itself to the count. */
import { type SendMoment, sendMoment } from "@tenure/core";
import { askAll } from "./ask-all.js";
import { type Tally, tallyVotes } from "./candidacy-decision.js";
import type { Configuration, LeaseVerdict } from "./messages.js";
import { endpointsOf, type PeerContext } from "./peer-context.js";

/** How long answers are waited for, as a share of the ttl. */
export const PATIENCE: number = 1 / 4;

export type CandidacyResult =
  /** `sent`: taken before the first vote; the deadline counts from it. */
  | { readonly kind: "won"; readonly sent: SendMoment }
  | { readonly kind: "lost" }
  | { readonly kind: "outdated"; readonly config: Configuration };

/** A candidate that does not win has released its term everywhere, and never uses it again. */
export async function standFor(
  context: PeerContext,
  config: Configuration,
  term: number,
): Promise<CandidacyResult> {
  const { identity, endpoint, ttlMs, clock, voter, transport } = context;
  const request = {
    candidateId: identity,
    candidateEndpoint: endpoint,
    term,
    ttlMs,
    cluster: config.cluster,
    epoch: config.epoch,
  };
  const sent = sendMoment(clock);
  const verdicts: LeaseVerdict[] = [await voter.acquire(request)];
  // Another candidate may have been granted this vote meanwhile.
  if (verdicts[0]?.granted !== true) return { kind: "lost" };
  let tally: Tally = tallyVotes(config, verdicts);
  const asking = askAll(
    clock,
    ttlMs * PATIENCE,
    tally.kind === "open" ? endpointsOf(context, [config]) : [],
    (to, signal) => transport.acquire(to, request, { signal }),
    (verdict) => {
      verdicts.push(verdict);
      tally = tallyVotes(config, verdicts);
      if (tally.kind !== "open") asking.end();
    },
  );
  await asking.done;
  return conclude(context, tally, config, term, sent);
}

/**
 * Releases the term at every peer that may hold it, including this one, as far as they answer; resolves when no answer
 * is waited for.
 */
export async function releaseEverywhere(
  context: PeerContext,
  configs: readonly (Configuration | null)[],
  term: number,
): Promise<void> {
  const { identity, ttlMs, clock, voter, transport } = context;
  const request = { leaderId: identity, term };
  const asking = askAll(
    clock,
    ttlMs * PATIENCE,
    endpointsOf(context, configs),
    (to, signal) => transport.release(to, request, { signal }),
    () => {},
  );
  await Promise.all([voter.release(request), asking.done]);
}

function conclude(
  context: PeerContext,
  tally: Tally,
  config: Configuration,
  term: number,
  sent: SendMoment,
): CandidacyResult {
  if (tally.kind === "won") return { kind: "won", sent };
  void releaseEverywhere(context, [config, tally.kind === "outdated" ? tally.config : null], term);
  return tally.kind === "outdated" ? tally : { kind: "lost" };
}
