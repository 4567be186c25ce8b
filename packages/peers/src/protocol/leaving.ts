/** When a node that leaves the cluster may stop: until then it answers and votes. */
import { isMember } from "./configuration.js";
import type { Configuration, PeerState } from "./messages.js";
import type { PeerContext } from "./peer-context.js";

/**
 * A leaving node leads, and stands, as long as nobody who stays is an elector: it is the only one, or all the others have
 * left too, while somebody is there to be added.
 */
export function mustLeadOn({ identity, membership }: PeerContext, { members }: Configuration): boolean {
  const left = membership.left();
  const isLast = Object.keys(members).every((each) => each === identity || left.includes(each));
  return isLast && membership.active().some((member) => members[member.identity] === undefined);
}

/** A leaving node may stop once the leader's own answer shows an electorate without it. */
export function isReleased({ identity, disk }: PeerContext, cluster: string, state: PeerState): boolean {
  const { config, leading } = state;
  return leading && config !== null && config.cluster === cluster && !isMember(config, identity, disk);
}

export interface LeavingParts {
  readonly context: PeerContext;
  /** Ends the term that this peer leads, if it leads one. */
  readonly endTerm: () => void;
  readonly ask: () => Promise<ReadonlyMap<string, PeerState>>;
  readonly pause: (signal: AbortSignal) => Promise<void>;
}

/** Resolves when the node may stop; rejects with the reason of the signal. */
export async function waitToBeReleased(parts: LeavingParts, signal: AbortSignal): Promise<void> {
  const { context, endTerm, ask, pause } = parts;
  for (;;) {
    const { config } = context.voter;
    if (config === null) return;
    if (!mustLeadOn(context, config)) {
      endTerm();
      if (Object.keys(config.members).every((each) => each === context.identity)) return;
      const states = [...(await ask()).values()];
      if (states.some((state) => isReleased(context, config.cluster, state))) return;
    }
    await pause(signal);
  }
}
