/**
 * A peer as the others see it: it grants, renews and releases by the rules in `voting.ts`, and answers only after its
 * promise is on disk. One request at a time; each answer shows the state right after its own decision.
 *
 * After a restart the lease that it holds counts from the start of the process: only the same holder is granted
 * anything before ttl and margin have passed.
 */
import { type Clock, sendMoment } from "@tenure/core";
import { SerialQueue } from "../serial-queue.js";
import { compareEpochs } from "./configuration.js";
import type {
  AcquireRequest,
  Configuration,
  LeaseVerdict,
  LiveLease,
  PeerAnswers,
  PeerDisk,
  PeerState,
  ReleaseRequest,
  ReleaseVerdict,
  RenewRequest,
} from "./messages.js";
import {
  decideAcquire,
  decideRenew,
  type HeldVote,
  isSameVote,
  leaseLeftMs,
  obeysRelease,
  type VoteDecision,
  type VoterState,
  type VoterTime,
} from "./voting.js";

export interface VoterOptions {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: PeerDisk;
  readonly clock: Clock;
  /** The ttl of its own leases; it grants no lease that is longer. */
  readonly ttlMs: number;
  readonly driftRatio: number;
  /** The smallest endpoint of the join list. */
  readonly founder: string | null;
  /** Whether this node itself leads at this moment. */
  readonly isLeading: () => boolean;
  /** A server of another cluster asked for a lease. */
  readonly onOtherCluster: (identity: string, endpoint: string, cluster: string) => void;
  /** After a grant, a renewal, a release or another electorate. */
  readonly onChange: () => void;
}

export class Voter implements PeerAnswers {
  readonly #options: VoterOptions;
  #held: HeldVote | null;
  #config: Configuration | null;
  /** The holder of the vote has renewed since this process started, so it has won and is alive. */
  #isLed = false;
  /** Decisions are made one at a time. */
  readonly #queue = new SerialQueue();

  constructor(options: VoterOptions) {
    this.#options = options;
    const { vote, config } = options.disk.read();
    this.#held = vote === null ? null : { vote, since: sendMoment(options.clock), released: false };
    this.#config = config;
  }

  get config(): Configuration | null {
    return this.#config;
  }

  /** The highest term granted. */
  get term(): number {
    return this.#held?.vote.term ?? 0;
  }

  acquire(request: AcquireRequest): Promise<LeaseVerdict> {
    const { candidateId, candidateEndpoint, cluster } = request;
    this.#noteCluster(candidateId, candidateEndpoint, cluster);
    return this.#queue.run(() => this.#carryOut(decideAcquire(this.#state(), request, this.#time()), false));
  }

  renew(request: RenewRequest): Promise<LeaseVerdict> {
    const { leaderId, leaderEndpoint, config } = request;
    this.#noteCluster(leaderId, leaderEndpoint, config.cluster);
    return this.#queue.run(() => this.#carryOut(decideRenew(this.#state(), request, this.#time()), true));
  }

  release(request: ReleaseRequest): Promise<ReleaseVerdict> {
    return this.#queue.run(async () => {
      const released = obeysRelease(this.#state(), request);
      if (released && this.#held !== null) this.#held = { ...this.#held, released: true };
      this.#options.onChange();
      return { released, state: this.state() };
    });
  }

  /** Adopts a configuration if it is newer, on disk first. This is not a vote: nothing else changes. */
  adopt(config: Configuration): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#config !== null) {
        if (this.#config.cluster !== config.cluster) return;
        if (compareEpochs(config.epoch, this.#config.epoch) <= 0) return;
      }
      await this.#options.disk.write({ config });
      this.#config = config;
      this.#options.onChange();
    });
  }

  /** The lease of the holder of its vote, if it has not expired by this peer's clocks. */
  lease(): LiveLease | null {
    const held = this.#held;
    if (held === null) return null;
    const leftMs = leaseLeftMs(held, this.#time());
    if (leftMs <= 0) return null;
    const { holderId, holderEndpoint, term } = held.vote;
    return { leaderId: holderId, leaderEndpoint: holderEndpoint, term, leftMs, led: this.#isLed };
  }

  /** The same, where its holder is known to have won: only the winner of a term renews. */
  ledLease(): LiveLease | null {
    const lease = this.lease();
    return lease?.led === true ? lease : null;
  }

  /** Whether the holder of this term has released it here. */
  isReleased(term: number): boolean {
    return this.#held !== null && this.#held.released && this.#held.vote.term === term;
  }

  state(): PeerState {
    const { identity, endpoint, disk, founder, isLeading } = this.#options;
    return {
      identity,
      endpoint,
      disk: disk.id,
      term: this.term,
      lease: this.lease(),
      config: this.#config,
      founder,
      leading: isLeading(),
    };
  }

  /** Resolves when every decision begun so far is on disk. */
  async settled(): Promise<void> {
    await this.#queue.settled();
  }

  #noteCluster(identity: string, endpoint: string, cluster: string): void {
    if (this.#config !== null && this.#config.cluster !== cluster) {
      this.#options.onOtherCluster(identity, endpoint, cluster);
    }
  }

  async #carryOut(decision: VoteDecision, isLed: boolean): Promise<LeaseVerdict> {
    if (decision.kind === "refuse") {
      return { granted: false, refusal: decision.refusal, state: this.state() };
    }
    const { vote, config } = decision;
    const isKnown = isSameVote(this.#held?.vote, vote);
    if (!isKnown || config !== undefined) {
      await this.#options.disk.write({
        ...(isKnown ? {} : { vote }),
        ...(config === undefined ? {} : { config }),
      });
    }
    // Counted from after the write, which makes the lease longer, not shorter.
    this.#held = { vote, since: sendMoment(this.#options.clock), released: false };
    this.#isLed = isLed;
    if (config !== undefined) this.#config = config;
    this.#options.onChange();
    return { granted: true, state: this.state() };
  }

  #state(): VoterState {
    return { held: this.#held, config: this.#config, ttlMs: this.#options.ttlMs };
  }

  #time(): VoterTime {
    const { clock, driftRatio } = this.#options;
    return { now: sendMoment(clock), bootTickMs: clock.bootTickMs, driftRatio };
  }
}
