import { type Clock, sendMoment, type SendMoment } from "@tenure/core";
import { isOfCluster, latestLease } from "./candidacy-decision.js";
import type { LiveLease, PeerState } from "./messages.js";

export interface ObservedLeader {
  readonly leaderId: string;
  readonly leaderEndpoint: string;
  readonly term: number;
}

/**
 * The leader as a peer sees it: by the vote that it holds itself, or by the last answers of the others. A lease counts
 * only if its voter has seen its holder renew, because candidates hold votes before they have won.
 */
export class Observations {
  readonly #clock: Clock;
  readonly #identity: string;
  /** Nothing is believed for longer than a lease; the next answers replace it long before. */
  readonly #maxMs: number;
  #told: { readonly lease: LiveLease; readonly at: SendMoment } | null = null;
  #last: ObservedLeader | null = null;

  constructor(clock: Clock, identity: string, ttlMs: number) {
    this.#clock = clock;
    this.#identity = identity;
    this.#maxMs = 2 * ttlMs;
  }

  take(states: readonly PeerState[], cluster: string): void {
    const lease = latestLease(
      states.filter((state) => isOfCluster(state, cluster) && state.lease?.led === true),
    );
    this.#told = lease === null ? null : { lease, at: sendMoment(this.#clock) };
  }

  /** `held`: the lease that this peer's own vote holds. A lease of this peer itself counts only while it leads. */
  leader(held: LiveLease | null): ObservedLeader | null {
    const told = this.#stillTold();
    const lease = held !== null && (told === null || held.term >= told.term) ? held : told;
    if (lease === null || lease.leaderId === this.#identity) return null;
    const { leaderId, leaderEndpoint, term } = lease;
    return { leaderId, leaderEndpoint, term };
  }

  /** The leader when `isNews` was last called. */
  get last(): ObservedLeader | null {
    return this.#last;
  }

  /** Whether this differs from the leader of the last call. */
  isNews(leader: ObservedLeader | null): boolean {
    const isSame = leader?.leaderId === this.#last?.leaderId && leader?.term === this.#last?.term;
    this.#last = leader;
    return !isSame;
  }

  #stillTold(): LiveLease | null {
    if (this.#told === null) return null;
    const { lease, at } = this.#told;
    const { monotonicMs, bootMs } = sendMoment(this.#clock);
    const agoMs = Math.max(monotonicMs - at.monotonicMs, bootMs - at.bootMs);
    return agoMs < Math.min(lease.leftMs, this.#maxMs) ? lease : null;
  }
}
