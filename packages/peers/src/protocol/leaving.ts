/** When a node that leaves the cluster may stop. Until then it answers and votes. */
import { compareEpochs, isMember, memberOf } from "./configuration.js";
import type { Configuration, PeerState } from "./messages.js";
import type { PeerContext } from "./peer-context.js";

/**
 * A leaving node keeps leading, and campaigning, while no elector stays: it is the only elector, or all the others have
 * left too, and there is a server to be added.
 */
export function mustLeadOn({ identity, membership }: PeerContext, { members }: Configuration): boolean {
  const left = membership.left();
  const isLast = Object.keys(members).every((each) => each === identity || left.includes(each));
  return isLast && membership.active().some((member) => memberOf(members, member.identity) === undefined);
}

/**
 * A leaving node may stop once the leader's own answer shows an electorate without it. `own` is the electorate that the
 * node has stored: an older one of the leader does not count. A leader writes its own copy last, so it may be about to
 * add the node, and of two electors both are needed to remove one again.
 */
function isReleased({ identity, disk }: PeerContext, own: Configuration, state: PeerState): boolean {
  const { config, leading } = state;
  if (!leading || config === null || config.cluster !== own.cluster) return false;
  return compareEpochs(config.epoch, own.epoch) >= 0 && !isMember(config, identity, disk);
}

export type LeaveOutcome =
  /** The leader's own answer shows an electorate without this node. */
  | { readonly kind: "removed" }
  /** No elector stays that could remove it: a majority of these must run again before there can be a leader. */
  | { readonly kind: "last"; readonly electorate: readonly string[] };

export interface LeavingParts {
  readonly context: PeerContext;
  /** Ends the term that this peer leads, if it leads one. */
  readonly endTerm: () => void;
  readonly ask: () => Promise<ReadonlyMap<string, PeerState>>;
  readonly pause: (signal: AbortSignal) => Promise<void>;
}

/** Resolves when the node may stop; rejects with the reason of the signal. */
export async function waitToBeReleased(parts: LeavingParts, signal: AbortSignal): Promise<LeaveOutcome> {
  const { context, endTerm, ask, pause } = parts;
  const { identity, membership, voter } = context;
  for (;;) {
    const { config } = voter;
    if (config === null) return { kind: "removed" };
    if (!mustLeadOn(context, config)) {
      endTerm();
      const electorate = Object.keys(config.members).toSorted();
      const left = membership.left();
      if (electorate.every((each) => each === identity || left.includes(each))) {
        return electorate.includes(identity) ? { kind: "last", electorate } : { kind: "removed" };
      }
      const states = [...(await ask()).values()];
      if (states.some((state) => isReleased(context, voter.config ?? config, state)))
        return { kind: "removed" };
    }
    await pause(signal);
  }
}
