/** Abbreviated states, configurations and verdicts for tests of the pure rules. */
import type { Configuration, LeaseVerdict, PeerState } from "./messages.js";

const CLUSTER = "cluster";

/** `abc` are three voters, each at the endpoint and with the disk of its name. */
export function electorate(names: string, term = 0, n = 0, cluster: string = CLUSTER): Configuration {
  const members = Object.fromEntries(
    Array.from(names).map((name) => [name, { endpoint: name, disk: `disk-${name}` }]),
  );
  return { cluster, epoch: { term, n }, members };
}

export function stateOf(identity: string, rest: Partial<PeerState> = {}): PeerState {
  return {
    identity,
    endpoint: identity,
    disk: `disk-${identity}`,
    term: 0,
    lease: null,
    config: null,
    founder: null,
    leading: false,
    ...rest,
  };
}

/** A live lease as a peer shows it. */
export function leaseOf(leaderId: string, term: number): PeerState["lease"] {
  return { leaderId, leaderEndpoint: leaderId, term, leftMs: 500, led: true };
}

export function granted(identity: string, rest: Partial<PeerState> = {}): LeaseVerdict {
  return { granted: true, state: stateOf(identity, rest) };
}

export function refused(identity: string, rest: Partial<PeerState> = {}): LeaseVerdict {
  return { granted: false, refusal: "lease-active", state: stateOf(identity, rest) };
}
