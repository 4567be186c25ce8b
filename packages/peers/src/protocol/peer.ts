/**
 * One peer of a cluster that elects a leader among its own servers, without any store.
 *
 * Promised, as long as clocks keep their rate within ρ and disks keep what was synced: at every moment at most one peer
 * is inside its deadline as leader; no term is ever held by two; the terms that a peer has granted only rise. Not promised:
 * a leader when no majority of the electorate can talk, and that a stopped process stops acting in time (check `isLeader`
 * right before each act; the term fences the rest).
 *
 * A peer votes (`answers`, served by somebody else), stands for election, leads, and lets the electorate follow the
 * active membership while it leads.
 */
import { type CallOptions, type Clock, ClosedError, type SendMoment, sleep } from "@tenure/core";
import { askAll } from "./ask-all.js";
import { PATIENCE, standFor } from "./candidacy.js";
import { hasSameMembers } from "./configuration.js";
import { decideFounding, founderOf } from "./founding.js";
import type { Configuration, PeerAnswers, PeerState } from "./messages.js";
import { Observations, type ObservedLeader } from "./observations.js";
import { endpointsOf, isReleased, mustLeadOn, type PeerContext } from "./peer-context.js";
import { type ParsedPeerOptions, parsePeerOptions, type PeerOptions } from "./peer-options.js";
import { type LossCause, Reign } from "./reign.js";
import { decideStanding, readMajority } from "./standing.js";
import { Voter } from "./voter.js";

export type PeerEvent =
  /** `signal` aborts before the deadline. */
  | { readonly kind: "elected"; readonly term: number; readonly signal: AbortSignal }
  | { readonly kind: "lost"; readonly term: number; readonly cause: LossCause }
  /** `released`: the one before has given its term back, as far as this peer was told. */
  | { readonly kind: "observed"; readonly leader: ObservedLeader | null; readonly released: boolean }
  /** A first start that cannot go on yet: `for` are the endpoints that must speak first. */
  | { readonly kind: "waiting"; readonly for: readonly string[]; readonly why: string }
  | { readonly kind: "founded"; readonly config: Configuration }
  /** Who votes, or where, is another than before, as far as this peer knows. */
  | { readonly kind: "electorate"; readonly config: Configuration };

export interface Campaign {
  /** Resolves when an attempt that began after the call came to nothing, or to a term that is over. */
  readonly tried: Promise<void>;
  readonly stop: () => void;
}

/** Random waits, as parts of the ttl. */
const ASK_AGAIN = [1 / 10, 1 / 2] as const;
const STAND_AGAIN = [1 / 10, 1] as const;
const AT_ONCE = [0, 0] as const;

type Wait = readonly [from: number, to: number];

export class Peer implements AsyncDisposable {
  readonly #options: ParsedPeerOptions;
  readonly #context: PeerContext;
  readonly #voter: Voter;
  readonly #observations: Observations;
  readonly #listeners = new Set<(event: PeerEvent) => void>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #reign: Reign | null = null;
  #wake: AbortController = new AbortController();
  /** As it was last told. */
  #electorate: Configuration | null;
  #asked = 0;
  /** Campaigns that no attempt has been made for. */
  #untried: (() => void)[] = [];

  /** Begins to take part at once. */
  static start(options: PeerOptions): Peer {
    const peer = new Peer(parsePeerOptions(options));
    peer.#running = peer.#run();
    return peer;
  }

  private constructor(options: ParsedPeerOptions) {
    this.#options = options;
    const { identity, endpoint, join, disk, clock, driftRatio } = options;
    const founder = founderOf(join);
    this.#voter = new Voter({
      identity,
      endpoint,
      disk,
      clock,
      driftRatio,
      founder,
      isLeading: () => this.isLeader(),
      onChange: () => {
        this.#tellObserved();
        this.#tellElectorate();
      },
    });
    this.#electorate = this.#voter.config;
    this.#context = { ...options, disk: disk.id, voter: this.#voter };
    this.#observations = new Observations(clock, identity);
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
    return this.#reign?.isLeading === true;
  }

  /** How long it may still act as leader; 0 or less when it may not. */
  leftMs(): number {
    return this.#reign?.leftMs ?? 0;
  }

  /** The term that this peer leads now. */
  leading(): { readonly term: number; readonly signal: AbortSignal } | null {
    const reign = this.#reign;
    return reign !== null && reign.isLeading ? { term: reign.term, signal: reign.signal } : null;
  }

  /** Who leads as far as this peer knows; itself only while it does. */
  observedLeader(): ObservedLeader | null {
    const { identity, endpoint } = this.#options;
    const own = this.leading();
    if (own !== null) return { leaderId: identity, leaderEndpoint: endpoint, term: own.term };
    return this.#observations.leader(this.#voter.ledLease());
  }

  on(listener: (event: PeerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks it to stand, and at once, until it is told to stop. */
  campaign(): Campaign {
    this.#asked++;
    this.#wake.abort();
    let isOpen = true;
    const stop = (): void => {
      if (isOpen) this.#asked--;
      isOpen = false;
    };
    const tried = new Promise<void>((resolve) => this.#untried.push(resolve));
    return { tried, stop };
  }

  /** A round of renewals sent after this call: its moment once a majority granted it, `null` if this term is not led. */
  async renew(term: number): Promise<SendMoment | null> {
    const reign = this.#reign;
    return reign === null || reign.term !== term || !reign.isLeading ? null : reign.renew();
  }

  /** When the round was sent that gave the present deadline. */
  earnedMs(): number | null {
    return this.#reign?.isLeading === true ? this.#reign.earned.monotonicMs : null;
  }

  /** Who leads by the answers of a majority of the electorate, asked now; `null` where no majority answers. */
  async look(): Promise<{ readonly leader: ObservedLeader | null; readonly term: number } | null> {
    const states = await this.#askAround();
    const { config } = this.#voter;
    const read = config === null ? null : readMajority(config, [this.#voter.state(), ...states]);
    if (read === null) return null;
    const { lease, term } = read;
    if (lease === null) return { leader: null, term };
    return {
      leader: { leaderId: lease.leaderId, leaderEndpoint: lease.leaderEndpoint, term: lease.term },
      term,
    };
  }

  /**
   * Ends this term at once, and resolves when it was released everywhere, as well as that goes. The caller has stopped
   * acting. False if the term was not led.
   */
  async resign(term: number): Promise<boolean> {
    const reign = this.#reign;
    if (reign === null || reign.term !== term) return false;
    reign.end("resigned");
    await reign.released;
    return true;
  }

  /**
   * Waits until this node may stop: `membership.leaving` is set, whoever acts as leader here has stopped. It resolves when
   * the leader's own answer shows an electorate without it; until then it answers and votes. To give up is a crash.
   */
  async leave({ signal }: CallOptions = {}): Promise<void> {
    const ended = AbortSignal.any([this.#stopping.signal, ...(signal === undefined ? [] : [signal])]);
    for (;;) {
      const { config } = this.#voter;
      const reign = this.#reign;
      if (config === null) return;
      if (!mustLeadOn(this.#context, config)) {
        reign?.end("leaving");
        const { identity } = this.#options;
        if (Object.keys(config.members).every((each) => each === identity)) return;
        const states = await this.#askAround();
        if (states.some((state) => isReleased(this.#context, config.cluster, state))) return;
      }
      await sleep(this.#options.clock, this.#draw(ASK_AGAIN), ended);
    }
  }

  /** Ends what it leads and stops to take part. Idempotent. Whoever serves `answers` stops doing so. */
  async stop(): Promise<void> {
    this.#stopping.abort(new ClosedError("the peer was stopped"));
    const reign = this.#reign;
    reign?.end("stopped");
    this.#wake.abort();
    await this.#running;
    await reign?.released;
    await this.#voter.settled();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const trying = this.#untried.splice(0);
      // A disk that fails must not end the loop: this peer grants nothing and tries again.
      const wait = await this.#turn().catch(() => STAND_AGAIN);
      this.#tellObserved();
      if (wait === AT_ONCE) this.#untried.push(...trying);
      else for (const tried of trying) tried();
      if (signal.aborted) return;
      await sleep(this.#options.clock, this.#draw(wait), this.#wake.signal).catch(() => {});
    }
  }

  /** One turn of the loop: what to do next, and how long to wait after it. */
  async #turn(): Promise<Wait> {
    const lease = this.#voter.lease();
    if (lease !== null && lease.leaderId !== this.identity) return ASK_AGAIN;
    const answers = new Map<string, PeerState>();
    const states = await this.#askAround(answers);
    if (this.#stopping.signal.aborted) return ASK_AGAIN;
    const { config } = this.#voter;
    if (config === null) return this.#firstStart(answers);
    const decision = decideStanding(this.#voter.state(), config, states);
    await this.#voter.adopt(decision.config);
    this.#observations.take(states, decision.config.cluster);
    if (decision.kind === "stand-back" || !this.#mayStand(decision.config)) return ASK_AGAIN;
    return this.#stand(decision.config, decision.term);
  }

  async #firstStart(answers: Map<string, PeerState>): Promise<Wait> {
    const { join, endpoint } = this.#options;
    const own = this.#voter.state();
    if (join.includes(endpoint)) answers.set(endpoint, own);
    const decision = decideFounding(own, join, answers);
    if (decision.kind === "wait") {
      this.#tell({ kind: "waiting", for: decision.for, why: decision.why });
      return ASK_AGAIN;
    }
    await this.#voter.adopt(decision.config);
    if (decision.kind === "found") this.#tell({ kind: "founded", config: decision.config });
    return AT_ONCE;
  }

  async #stand(config: Configuration, term: number): Promise<Wait> {
    const result = await standFor(this.#context, config, term);
    switch (result.kind) {
      case "won":
        await this.#lead(config, term, result.sent);
        return STAND_AGAIN;
      case "outdated":
        await this.#voter.adopt(result.config);
        return AT_ONCE;
      case "lost":
        return STAND_AGAIN;
    }
  }

  /** Until the term is over. */
  #lead(config: Configuration, term: number, sent: SendMoment): Promise<void> {
    return new Promise((resolve) => {
      let hasLed = false;
      const reign = new Reign(this.#context, config, term, sent, {
        onLeading: () => {
          // Whoever asked is gone: the term is given back.
          if (!this.#isWanted()) return reign.end("resigned");
          hasLed = true;
          this.#tell({ kind: "elected", term, signal: reign.signal });
          this.#tellObserved();
        },
        onEnd: (cause, newer) => {
          this.#reign = null;
          if (newer !== null) void this.#voter.adopt(newer).catch(() => {});
          if (hasLed) this.#tell({ kind: "lost", term, cause });
          this.#tellObserved();
          resolve();
        },
      });
      this.#reign = reign;
      if (this.#stopping.signal.aborted) reign.end("stopped");
      else reign.start();
    });
  }

  #isWanted(): boolean {
    const { config } = this.#voter;
    if (this.#options.stands === "always" || this.#asked > 0) return true;
    return this.#context.membership.leaving && config !== null && mustLeadOn(this.#context, config);
  }

  #mayStand(config: Configuration): boolean {
    if (!this.#isWanted()) return false;
    return !this.#context.membership.leaving || mustLeadOn(this.#context, config);
  }

  async #askAround(answers: Map<string, PeerState> = new Map()): Promise<readonly PeerState[]> {
    const { clock, ttlMs, join, endpoint, transport } = this.#options;
    const endpoints = endpointsOf(this.#context, [this.#voter.config]);
    for (const target of join) if (target !== endpoint) endpoints.add(target);
    await askAll(
      clock,
      ttlMs * PATIENCE,
      endpoints,
      (to, signal) => transport.state(to, { signal }),
      (state, askedAt) => answers.set(askedAt, state),
    ).done;
    return [...answers.values()];
  }

  #draw([from, to]: Wait): number {
    return this.#options.ttlMs * (from + (to - from) * this.#options.random());
  }

  #tellObserved(): void {
    const leader = this.observedLeader();
    const before = this.#observations.last;
    if (!this.#observations.isNews(leader)) return;
    const released = before !== null && this.#voter.isReleased(before.term);
    this.#tell({ kind: "observed", leader, released });
  }

  #tellElectorate(): void {
    const { config } = this.#voter;
    const before = this.#electorate;
    if (config === null || config === before) return;
    this.#electorate = config;
    if (before === null || !hasSameMembers(before, config)) this.#tell({ kind: "electorate", config });
  }

  #tell(event: PeerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
