/** Decides whether to campaign after asking the other peers, and counts the votes. Pure. */
import { compareEpochs, isMajority, isMember, memberOf, newestOf, speaksFor } from "./configuration.js";
import type { Configuration, LeaseVerdict, LiveLease, PeerState } from "./messages.js";

export type CandidacyDecision =
  | { readonly kind: "stand"; readonly config: Configuration; readonly term: number }
  | {
      readonly kind: "stand-back";
      readonly config: Configuration;
      readonly why: "lease-active" | "no-majority" | "not-an-elector";
      /** For people: names the servers concerned. */
      readonly detail: string;
    };

type StandBack = Extract<CandidacyDecision, { kind: "stand-back" }>;

/**
 * `own` is this node's state, `others` the answers of the other peers. A candidacy that cannot be won must not raise
 * any peer's term: it needs a majority of the electorate that answers and holds no live lease of another peer.
 */
export function decideCandidacy(
  own: PeerState,
  config: Configuration,
  others: readonly PeerState[],
): CandidacyDecision {
  const ours = others.filter((state) => isOfCluster(state, config.cluster));
  const newest = newestOf(config, ours);
  const back = (why: StandBack["why"], detail: string): StandBack => ({
    kind: "stand-back",
    config: newest,
    why,
    detail,
  });
  const electors = Object.keys(newest.members).toSorted();
  if (!isMember(newest, own.identity, own.disk)) {
    const named = electors.map((identity) => placeOf(newest, identity)).join(", ");
    return back(
      "not-an-elector",
      `the electorate is ${named}: this server waits until a leader among those adds it`,
    );
  }
  const all = [own, ...ours];
  // This peer could not vote for itself.
  if (isLedByAnother(own, own.identity)) {
    return back("lease-active", `this server holds a lease of ${own.lease?.leaderId}`);
  }
  const voters = all.filter((state) => speaksFor(newest.members, state));
  const answered = new Set(voters.map(({ identity }) => identity));
  if (!isMajority(newest.members, (identity) => answered.has(identity))) {
    const silent = electors.filter((identity) => !answered.has(identity));
    const named = silent.map((identity) => placeOf(newest, identity)).join(", ");
    return back(
      "no-majority",
      `${answered.size} of ${electors.length} electors answer, more than half must; missing are ${named}`,
    );
  }
  // A single live lease is no reason to stand back: its voter may have restarted, or its candidate may have lost.
  const bound = voters.filter((state) => isLedByAnother(state, own.identity));
  const isBound = new Set(bound.map(({ identity }) => identity));
  if (!isMajority(newest.members, (identity) => answered.has(identity) && !isBound.has(identity))) {
    const named = bound.map(({ identity, lease }) => `${identity} (of ${lease?.leaderId})`).join(", ");
    return back("lease-active", `too many electors hold a live lease to win: ${named}`);
  }
  const highest = Math.max(newest.epoch.term, ...all.map((state) => state.term));
  return { kind: "stand", config: newest, term: highest + 1 };
}

/** The lease with the highest term among the answers. */
export function latestLease(states: readonly PeerState[]): LiveLease | null {
  let latest: LiveLease | null = null;
  for (const { lease } of states) {
    if (lease !== null && (latest === null || lease.term > latest.term)) latest = lease;
  }
  return latest;
}

/** The leader that a majority of the electorate shows; `null` if no majority answered. */
export function readMajority(
  config: Configuration,
  states: readonly PeerState[],
): { readonly lease: LiveLease | null; readonly term: number } | null {
  const ours = states.filter((state) => isOfCluster(state, config.cluster));
  const voters = new Map(
    ours.filter((state) => speaksFor(config.members, state)).map((state) => [state.identity, state]),
  );
  if (!isMajority(config.members, (identity) => voters.has(identity))) return null;
  const lease = latestLease(ours);
  // The lease may be that of a candidate, which says so itself if it answers.
  const holder = ours.find((state) => state.identity === lease?.leaderId);
  const isLed = lease !== null && holder?.leading !== false;
  return { lease: isLed ? lease : null, term: Math.max(...ours.map((state) => state.term)) };
}

export function isOfCluster(state: PeerState, cluster: string): boolean {
  return state.config === null || state.config.cluster === cluster;
}

/** `outdated`: an answer shows a newer electorate; start again from that one. */
export type Tally =
  | { readonly kind: "open" | "won" | "lost" }
  | { readonly kind: "outdated"; readonly config: Configuration };

/** The votes of one candidacy, counted by the electorate that it names, including the candidate's own. */
export function tallyVotes(config: Configuration, verdicts: readonly LeaseVerdict[]): Tally {
  const newest = newestOf(
    config,
    verdicts.map(({ state }) => state),
  );
  if (compareEpochs(newest.epoch, config.epoch) > 0) return { kind: "outdated", config: newest };
  const granted = new Set<string>();
  const refused = new Set<string>();
  for (const verdict of verdicts) {
    if (speaksFor(config.members, verdict.state)) {
      (verdict.granted ? granted : refused).add(verdict.state.identity);
    }
  }
  if (isMajority(config.members, (identity) => granted.has(identity))) return { kind: "won" };
  return isMajority(config.members, (identity) => !refused.has(identity))
    ? { kind: "open" }
    : { kind: "lost" };
}

function isLedByAnother({ lease }: PeerState, identity: string): boolean {
  return lease !== null && lease.leaderId !== identity;
}

function placeOf({ members }: Configuration, identity: string): string {
  return `${identity} (${memberOf(members, identity)?.endpoint})`;
}
