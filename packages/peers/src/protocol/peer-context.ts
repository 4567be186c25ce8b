import type { Clock } from "@tenure/core";
import { isMember } from "./configuration.js";
import type { Configuration, MembershipView, PeerState, PeerTransport } from "./messages.js";
import type { Voter } from "./voter.js";

/** What every part of one peer works with. */
export interface PeerContext {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: string;
  readonly ttlMs: number;
  readonly driftRatio: number;
  readonly clock: Clock;
  readonly voter: Voter;
  readonly transport: PeerTransport;
  readonly membership: MembershipView;
  readonly mayStep: (config: Configuration) => boolean;
}

/** Everybody of these electorates and of the active membership, but not oneself. Who moved is asked at both places. */
export function endpointsOf(
  { endpoint, membership }: PeerContext,
  configs: readonly (Configuration | null)[],
): Set<string> {
  const endpoints = new Set(membership.active().map((member) => member.endpoint));
  for (const config of configs) {
    for (const member of Object.values(config?.members ?? {})) endpoints.add(member.endpoint);
  }
  endpoints.delete(endpoint);
  return endpoints;
}

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
