/** The electorate: which servers vote, and which of two electorates is newer. */
import type { Configuration, ConfiguredMember, Epoch, PeerState } from "./messages.js";

export type Members = Configuration["members"];

/** Negative if `a` is lower. */
export function compareEpochs(a: Epoch, b: Epoch): number {
  return a.term - b.term || a.n - b.n;
}

/** The member of this identity. Identities come from outside: one may have the name of a property that every object has. */
export function memberOf(members: Members, identity: string): ConfiguredMember | undefined {
  return Object.hasOwn(members, identity) ? members[identity] : undefined;
}

export function isMember(config: Configuration, identity: string, disk: string): boolean {
  return memberOf(config.members, identity)?.disk === disk;
}

/** Whether more than half of the members are in `yes`. */
export function isMajority(members: Members, yes: (identity: string) => boolean): boolean {
  const identities = Object.keys(members);
  return 2 * identities.filter(yes).length > identities.length;
}

/** Whether this answer comes from a voter, and not from its identity with another disk. */
export function speaksFor(members: Members, state: PeerState): boolean {
  return memberOf(members, state.identity)?.disk === state.disk;
}

/** The newest of `own` and the electorates of the same cluster in `states`; those of other clusters are never adopted. */
export function newestOf(own: Configuration, states: readonly PeerState[]): Configuration {
  let newest = own;
  for (const { config } of states) {
    if (config === null || config.cluster !== own.cluster) continue;
    if (compareEpochs(config.epoch, newest.epoch) > 0) newest = config;
  }
  return newest;
}

/** The same voters at the same endpoints, whatever the epoch. */
export function hasSameMembers(a: Configuration, b: Configuration): boolean {
  const [mine, theirs] = [Object.entries(a.members), b.members];
  return (
    mine.length === Object.keys(theirs).length &&
    mine.every(
      ([identity, { endpoint, disk }]) =>
        memberOf(theirs, identity)?.endpoint === endpoint && memberOf(theirs, identity)?.disk === disk,
    )
  );
}

/** The same epoch of the same cluster: one epoch names one electorate. */
export function isSameConfiguration(a: Configuration | null, b: Configuration | null): boolean {
  return a !== null && b !== null && a.cluster === b.cluster && compareEpochs(a.epoch, b.epoch) === 0;
}
