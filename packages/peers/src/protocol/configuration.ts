/** The electorate: who votes, and which of two is newer. */
import type { Configuration, ConfiguredMember, Epoch, PeerState } from "./messages.js";

export type Members = Configuration["members"];

/** Negative if `a` is lower. */
export function compareEpochs(a: Epoch, b: Epoch): number {
  return a.term - b.term || a.n - b.n;
}

/** The member of this identity. Identities come from outside: one may be named like a property that all objects have. */
export function memberOf(members: Members, identity: string): ConfiguredMember | undefined {
  return Object.hasOwn(members, identity) ? members[identity] : undefined;
}

export function isMember(config: Configuration, identity: string, disk: string): boolean {
  return memberOf(config.members, identity)?.disk === disk;
}

/** Whether those in `yes` are more than half. */
export function isMajority(members: Members, yes: (identity: string) => boolean): boolean {
  const identities = Object.keys(members);
  return 2 * identities.filter(yes).length > identities.length;
}

/** Whether this answer is that of a voter, and not of its identity over another disk. */
export function speaksFor(members: Members, state: PeerState): boolean {
  return memberOf(members, state.identity)?.disk === state.disk;
}

/** The one with the highest epoch of `own` and those that are of the same cluster; other clusters are never adopted. */
export function newestOf(own: Configuration, states: readonly PeerState[]): Configuration {
  let newest = own;
  for (const { config } of states) {
    if (config === null || config.cluster !== own.cluster) continue;
    if (compareEpochs(config.epoch, newest.epoch) > 0) newest = config;
  }
  return newest;
}

/** The same voters at the same places, under whatever epoch. */
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
