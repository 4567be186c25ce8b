/** Asks the other peers for their state, and keeps which one this peer takes for the leader. */
import { askAll } from "./ask-all.js";
import { readMajority } from "./candidacy-decision.js";
import { PATIENCE } from "./candidacy.js";
import type { PeerState } from "./messages.js";
import { Observations, type ObservedLeader } from "./observations.js";
import { endpointsOf, type PeerContext } from "./peer-context.js";

export class Observing {
  readonly #context: PeerContext;
  readonly #join: readonly string[];
  readonly #leadingTerm: () => number | null;
  readonly #observations: Observations;

  /** `leadingTerm`: the term that this peer leads at this moment. */
  constructor(context: PeerContext, join: readonly string[], leadingTerm: () => number | null) {
    this.#context = context;
    this.#join = join;
    this.#leadingTerm = leadingTerm;
    this.#observations = new Observations(context.clock, context.identity, context.ttlMs);
  }

  /** The leader as far as this peer knows; itself only while it leads. */
  leader(): ObservedLeader | null {
    const { identity, endpoint, voter } = this.#context;
    const term = this.#leadingTerm();
    if (term !== null) return { leaderId: identity, leaderEndpoint: endpoint, term };
    return this.#observations.leader(voter.ledLease());
  }

  /** The leader when `isNews` was last called. */
  get last(): ObservedLeader | null {
    return this.#observations.last;
  }

  isNews(leader: ObservedLeader | null): boolean {
    return this.#observations.isNews(leader);
  }

  take(states: readonly PeerState[], cluster: string): void {
    this.#observations.take(states, cluster);
  }

  /** The states of the electorate, the active members and the join targets, by the endpoint that was asked. */
  async ask(): Promise<Map<string, PeerState>> {
    const { clock, ttlMs, endpoint, transport, voter } = this.#context;
    const answers = new Map<string, PeerState>();
    const endpoints = endpointsOf(this.#context, [voter.config]);
    for (const target of this.#join) if (target !== endpoint) endpoints.add(target);
    await askAll(
      clock,
      ttlMs * PATIENCE,
      endpoints,
      (to, signal) => transport.state(to, { signal }),
      (state, askedAt) => answers.set(askedAt, state),
    ).done;
    return answers;
  }

  /** The leader by the answers of a majority of the electorate, asked now; `null` if no majority answers. */
  async look(): Promise<{ readonly leader: ObservedLeader | null; readonly term: number } | null> {
    const answers = await this.ask();
    const { voter } = this.#context;
    const { config } = voter;
    const read = config === null ? null : readMajority(config, [voter.state(), ...answers.values()]);
    if (read === null) return null;
    const { lease, term } = read;
    if (lease === null) return { leader: null, term };
    const { leaderId, leaderEndpoint } = lease;
    return { leader: { leaderId, leaderEndpoint, term: lease.term }, term };
  }
}
