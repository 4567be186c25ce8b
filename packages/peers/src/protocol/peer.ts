/**
 * One peer of a cluster whose servers elect a leader among themselves, without any store. `Peer.start(options)` makes it
 * take part; `../wire/peer-node.ts` runs one inside a server, with certificates and HTTP, and `../elector/peer-elector.ts`
 * offers it as an `Elector`.
 *
 * What it promises, as long as clocks keep their rate within ρ (`driftRatio`) and disks keep what was synced:
 * - At every moment at most one peer is inside its deadline as leader.
 * - No term is held by two peers, and the terms that a peer has granted only rise, over restarts as well.
 * - A change of the electorate never lets two majorities decide independently.
 * What it does not promise: a leader while no majority of the electorate can communicate (an electorate of two stops when
 * either is lost), or that a paused process stops acting in time. Call `isLeader()` right before each act, and send the
 * term along so that resources can refuse an old one.
 *
 * Time. A voter stores its vote and then keeps the lease for ttl plus a margin, counted on its own monotonic and boot
 * clocks from the moment after the write; after a restart it counts from the start again. A leader counts its deadline from
 * before it sent the round that a majority granted, less the margin, on both clocks as well. So clocks need not agree, and
 * the wall clock is not used. A leader's signal aborts a twentieth of the ttl before its deadline.
 *
 * The life of a peer:
 * 1. It answers the others from the first moment (`voter.ts`, by the pure rules in `voting.ts`): votes, renewals, releases.
 *    A promise is on disk before it is answered.
 * 2. Its loop (`peer-loop.ts`) asks the electorate, the active members and the join targets for their state
 *    (`observing.ts`). Without an electorate it takes the one that it finds, founds one, or waits (`bootstrap.ts`).
 * 3. If a majority of the electorate answers and is bound by no live lease, it campaigns for the next term
 *    (`candidacy-decision.ts`, `candidacy.ts`). A majority must grant it. A candidate that does not win releases its term
 *    everywhere. Random waits separate the attempts.
 * 4. A winner first stores the same electorate under its own epoch, and leads only when a majority has stored it. Then it
 *    renews every third of the ttl (`term-loop.ts`, by the pure rules in `term-state.ts`).
 * 5. While it leads, the electorate follows the active membership, one member per step (`electorate.ts`); `holdStep` can
 *    delay a step.
 * 6. The term ends at the deadline, by a newer term, by `resign`, `leave` or `stop`, or if the disk fails. It is released
 *    everywhere and never led again; then step 2 follows.
 * 7. `leave` waits until the electorate no longer contains this peer (`leaving.ts`). Ending the process before that is a
 *    crash to the others. If a majority is lost for good, an operator recovers (`../recovery/recovery.ts`).
 * `campaigns.ts` keeps which callers ask the peer to campaign, and `reporting.ts` what it reports.
 *
 * Tuning: `ttlMs` is how long a crashed leader blocks the cluster; all other times are shares of it, and all peers must use
 * the same. A ttl close to the time that a disk needs to sync, or that a network needs for a round trip, makes leaders lose
 * their term. Use an odd number of servers, at least three. Read next: `messages.ts` (ports and messages), `voting.ts`,
 * `term-state.ts`, and docs/PEERS.md.
 */
import type { CallOptions, Clock, SendMoment } from "@tenure/core";
import { LinkedController } from "@tenure/core/internal";
import { founderOf } from "./bootstrap.js";
import { type Campaign, Campaigns } from "./campaigns.js";
import { checkedTransport } from "./checked-transport.js";
import { isMember } from "./configuration.js";
import { type LeaveOutcome, waitToBeReleased } from "./leaving.js";
import type { PeerAnswers } from "./messages.js";
import type { ObservedLeader } from "./observations.js";
import { Observing } from "./observing.js";
import type { PeerContext } from "./peer-context.js";
import type { PeerEvent } from "./peer-events.js";
import { PeerLoop } from "./peer-loop.js";
import { type ParsedPeerOptions, parsePeerOptions, type PeerOptions } from "./peer-options.js";
import type { MissingElector, PeerStatus } from "./peer-status.js";
import { Reporting } from "./reporting.js";
import { Voter } from "./voter.js";

export class Peer implements AsyncDisposable {
  readonly #options: ParsedPeerOptions;
  readonly #context: PeerContext;
  readonly #voter: Voter;
  readonly #campaigns = new Campaigns();
  readonly #observing: Observing;
  readonly #reporting: Reporting;
  readonly #loop: PeerLoop;

  /** Starts to take part at once. Throws `InvalidRequestError` if an option is wrong. */
  static start(options: PeerOptions): Peer {
    const peer = new Peer(parsePeerOptions(options));
    peer.#loop.start();
    return peer;
  }

  private constructor(options: ParsedPeerOptions) {
    this.#options = options;
    const { identity, endpoint, join, disk, clock, driftRatio, ttlMs } = options;
    this.#voter = new Voter({
      identity,
      endpoint,
      disk,
      clock,
      ttlMs,
      driftRatio,
      founder: founderOf(join),
      isLeading: () => this.isLeader(),
      onOtherCluster: (...stranger) => this.#reporting.otherCluster(...stranger),
      onChange: () => this.#reporting.changed(),
    });
    const transport = checkedTransport(options.transport, {
      term: () => this.term,
      onAnswer: ({ identity: from, endpoint: at, config }) => {
        if (config !== null) this.#reporting.otherCluster(from, at, config.cluster);
      },
    });
    const context = { ...options, disk: disk.id, voter: this.#voter, transport };
    const observing = new Observing(context, join, () => this.leading()?.term ?? null);
    const reporting = new Reporting({ clock, ttlMs, voter: this.#voter, observing });
    this.#context = context;
    this.#observing = observing;
    this.#reporting = reporting;
    this.#loop = new PeerLoop({ options, context, campaigns: this.#campaigns, observing, reporting });
  }

  get identity(): string {
    return this.#options.identity;
  }

  get ttlMs(): number {
    return this.#options.ttlMs;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get stands(): "always" | "asked" {
    return this.#options.stands;
  }

  /** The highest term that this peer has granted. */
  get term(): number {
    return this.#voter.term;
  }

  /** The answers of this peer to the others; the wire serves them. */
  get answers(): PeerAnswers {
    return this.#voter;
  }

  /** Whether this peer may act as leader, checked at each call on both clocks. */
  isLeader(): boolean {
    return this.#loop.termLoop?.isLeading === true;
  }

  /** How long this peer may still act as leader, in milliseconds; 0 or less when it may not. */
  leftMs(): number {
    return this.#loop.termLoop?.leftMs ?? 0;
  }

  /** The term that this peer leads now, with its signal; `null` if it does not lead. */
  leading(): { readonly term: number; readonly signal: AbortSignal } | null {
    const { termLoop } = this.#loop;
    return termLoop !== null && termLoop.isLeading ? { term: termLoop.term, signal: termLoop.signal } : null;
  }

  /** The leader as far as this peer knows; itself only while it leads. */
  observedLeader(): ObservedLeader | null {
    return this.#observing.leader();
  }

  /** The state for an operator: who votes, who leads, who is missing, and what is held back and why. */
  status(): PeerStatus {
    const { identity, endpoint, disk, ttlMs, membership } = this.#context;
    const electorate = this.#voter.config;
    return {
      identity,
      endpoint,
      disk,
      ttlMs,
      term: this.term,
      isLeader: this.isLeader(),
      isElector: electorate !== null && isMember(electorate, identity, disk),
      electorate,
      members: membership.active(),
      leader: this.observedLeader(),
      missing: this.#missing(),
      heldBack: this.#reporting.heldBack,
      notStanding: this.#reporting.notStanding,
    };
  }

  on(listener: (event: PeerEvent) => void): () => void {
    return this.#reporting.on(listener);
  }

  /** Asks this peer to campaign, at once and repeatedly, until the returned campaign is stopped. */
  campaign(): Campaign {
    return this.#campaigns.ask();
  }

  /**
   * Sends a round of renewals. Resolves with the time of sending once a majority granted it, or `null` if this term is not
   * led.
   */
  async renew(term: number): Promise<SendMoment | null> {
    const { termLoop } = this.#loop;
    return termLoop === null || termLoop.term !== term || !termLoop.isLeading ? null : termLoop.renew();
  }

  /** When the round was sent that gave the current deadline; `null` while not leading. */
  earnedMs(): number | null {
    const { termLoop } = this.#loop;
    return termLoop?.isLeading === true ? termLoop.earned.monotonicMs : null;
  }

  /** The leader by the answers of a majority of the electorate, asked now; `null` if no majority answers. */
  look(): ReturnType<Observing["look"]> {
    return this.#observing.look();
  }

  /**
   * Ends this term at once, and resolves when it was released at every voter that answers. The caller must have stopped
   * acting. False if the term was not led.
   */
  async resign(term: number): Promise<boolean> {
    const { termLoop } = this.#loop;
    if (termLoop === null || termLoop.term !== term) return false;
    termLoop.end("resigned");
    await termLoop.released;
    return true;
  }

  /**
   * Waits until this node may stop. Before the call, `membership.leaving` must be set and everything that acts as leader
   * here must have stopped. It resolves when the leader's own answer shows an electorate without this node, or when all
   * other electors leave too; until then this node answers and votes. Giving up the wait looks like a crash to the others.
   */
  leave({ signal }: CallOptions = {}): Promise<LeaveOutcome> {
    const ended = new LinkedController(this.#loop.stopped, signal);
    return waitToBeReleased(
      {
        context: this.#context,
        endTerm: () => this.#loop.termLoop?.end("leaving"),
        ask: () => this.#observing.ask(),
        pause: (ended) => this.#loop.pause(ended),
      },
      ended.signal,
    ).finally(() => ended.unlink());
  }

  /** Ends the term that it leads and stops taking part. Idempotent. The owner must stop serving `answers`. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#voter.settled();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #missing(): readonly MissingElector[] {
    const { identity: own, membership } = this.#context;
    const active = new Set(membership.active().map(({ identity }) => identity));
    const heard = this.#loop.termLoop?.heard ?? new Set();
    return Object.entries(this.#voter.config?.members ?? {})
      .filter(([identity]) => identity !== own && !active.has(identity) && !heard.has(identity))
      .map(([identity, { endpoint }]) => ({ identity, endpoint }));
  }
}
