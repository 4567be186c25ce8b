import type { Clock } from "@tenure/core";
import type { Configuration, MembershipView, PeerTransport } from "./messages.js";
import type { Voter } from "./voter.js";

/** What all parts of one peer use. */
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
  readonly holdStep: (config: Configuration) => string | null;
}

/**
 * The endpoints of these electorates and of the active membership, without this peer's own. A server that moved is
 * asked at both endpoints.
 */
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
