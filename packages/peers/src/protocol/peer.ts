/**
 * One peer of a cluster that elects a leader among its own servers, without any store.
 *
 * Promised, as long as clocks keep their rate within ρ and disks keep what was synced: at every moment at most one peer
 * is inside its deadline as leader; no term is ever held by two; the terms that a peer has granted only rise. Not promised:
 * a leader when no majority of the electorate can talk, and that a stopped process stops acting in time (check `isLeader`
 * right before each act; the term fences the rest).
 *
 * A peer votes (`answers`, served by the wire), stands for election, leads, and lets the electorate follow the active
 * membership while it leads. This file puts its parts together: the loop (`peer-loop.ts`), who asks it to stand
 * (`campaigns.ts`), what it learns of the others (`observing.ts`), how it leaves (`leaving.ts`) and what it reports
 * (`reporting.ts`).
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

  /** Begins to take part at once. */
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

  /** What this peer answers the others. */
  get answers(): PeerAnswers {
    return this.#voter;
  }

  /** Whether this peer may act as leader, judged at this very call by both clocks. */
  isLeader(): boolean {
    return this.#loop.termLoop?.isLeading === true;
  }

  /** How long it may still act as leader; 0 or less when it may not. */
  leftMs(): number {
    return this.#loop.termLoop?.leftMs ?? 0;
  }

  /** The term that this peer leads now. */
  leading(): { readonly term: number; readonly signal: AbortSignal } | null {
    const { termLoop } = this.#loop;
    return termLoop !== null && termLoop.isLeading ? { term: termLoop.term, signal: termLoop.signal } : null;
  }

  /** The leader as far as this peer knows; itself only while it leads. */
  observedLeader(): ObservedLeader | null {
    return this.#observing.leader();
  }

  /** What an operator wants to know: who votes, who leads, who is missing, and what is held back why. */
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

  /** Asks this peer to stand, at once and again, until the campaign is stopped. */
  campaign(): Campaign {
    return this.#campaigns.ask();
  }

  /** A round of renewals sent after this call: its moment once a majority granted it, `null` if this term is not led. */
  async renew(term: number): Promise<SendMoment | null> {
    const { termLoop } = this.#loop;
    return termLoop === null || termLoop.term !== term || !termLoop.isLeading ? null : termLoop.renew();
  }

  /** When the round was sent that gave the present deadline. */
  earnedMs(): number | null {
    const { termLoop } = this.#loop;
    return termLoop?.isLeading === true ? termLoop.earned.monotonicMs : null;
  }

  /** The leader by the answers of a majority of the electorate, asked now; `null` where no majority answers. */
  look(): ReturnType<Observing["look"]> {
    return this.#observing.look();
  }

  /**
   * Ends this term at once, and resolves when it was released everywhere, as well as that goes. The caller has stopped
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
   * Waits until this node may stop: `membership.leaving` is set, and what acts as leader here has stopped. It resolves when
   * the leader's own answer shows an electorate without it, or when all other electors leave too; until then it answers and
   * votes. To give up is a crash.
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

  /** Ends what it leads and stops to take part. Idempotent. Whatever serves `answers` stops doing so. */
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
