/**
 * The life of one term at its winner: a round of renewals every third of the ttl, the deadline, the end. It carries out
 * what `TermState` decides.
 *
 * The deadline counts from before a round was sent, on the monotonic clock and on the boot clock, which advances during
 * suspend. The signal aborts slightly before it. When a term is over it is released everywhere, and never led again.
 */
import { type CancelTimer, LedTerm, type SendMoment, sendMoment } from "@tenure/core";
import { type Asking, askAll } from "./ask-all.js";
import { releaseEverywhere } from "./candidacy.js";
import { type Hold, type Round, type StepWishes, TermState } from "./term-state.js";
import type { Configuration, LeaseVerdict } from "./messages.js";
import { mustLeadOn } from "./leaving.js";
import { endpointsOf, type PeerContext } from "./peer-context.js";

/** Why a term ended. */
export type LossCause = "expired" | "superseded" | "resigned" | "leaving" | "stopped" | "disk-failed";

export interface TermLoopEvents {
  /** The first step is done: only now does this node lead. */
  onLeading(): void;
  /** After each round: why a change of the electorate that is due was not sent. */
  onHold(hold: Hold | null): void;
  /** Called once, after the signal has aborted and before anything is released. */
  onEnd(cause: LossCause, newer: Configuration | null): void;
}

/** The interval between rounds, as a share of the ttl. */
const ROUND = 1 / 3;
/** How long before the deadline the signal aborts, as a share of the ttl. */
const NOTICE = 1 / 20;

const ASKED_FOR: ReadonlySet<LossCause> = new Set(["resigned", "leaving", "stopped"]);

interface RenewalWaiter {
  readonly number: number;
  resolve(sent: SendMoment | null): void;
}

export class TermLoop {
  readonly term: number;
  readonly #context: PeerContext;
  readonly #events: TermLoopEvents;
  readonly #termState: TermState;
  readonly #led: LedTerm;
  readonly #abort = new AbortController();
  readonly #rounds = new Set<Asking>();
  readonly #waiters = new Set<RenewalWaiter>();
  #earned: SendMoment;
  #isOver = false;
  #released: Promise<void> = Promise.resolve();
  #cancelRound: CancelTimer = () => {};
  #cancelDeadline: CancelTimer = () => {};

  /** `sent`: taken before the first vote for this term. */
  constructor(
    context: PeerContext,
    config: Configuration,
    term: number,
    sent: SendMoment,
    events: TermLoopEvents,
  ) {
    const { clock, driftRatio, ttlMs, identity } = context;
    this.term = term;
    this.#context = context;
    this.#events = events;
    this.#earned = sent;
    this.#led = new LedTerm(term, clock, driftRatio);
    this.#termState = new TermState(term, identity, ttlMs, config, clock.monotonicMs());
  }

  start(): void {
    if (!this.#extend(this.#earned)) return this.end("expired");
    this.#nextRound();
  }

  /** Checked at each call, on both clocks. */
  get isLeading(): boolean {
    return !this.#isOver && this.#termState.isLeading && this.#led.isInside();
  }

  /** How long it may act; 0 or less when it may not. */
  get leftMs(): number {
    return this.#isOver || !this.#termState.isLeading ? 0 : this.#led.leftMs();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The electorate that counts. */
  get config(): Configuration {
    return this.#termState.config;
  }

  /** Electors that are not silent: see `TermState.heard`. */
  get heard(): ReadonlySet<string> {
    return this.#termState.heard(this.#context.clock.monotonicMs());
  }

  /** Resolves when a release, once sent, has been answered or given up. */
  get released(): Promise<void> {
    return this.#released;
  }

  /** When the round was sent that gave the current deadline. */
  get earned(): SendMoment {
    return this.#earned;
  }

  /** A round sent after this call; resolves with its moment once it is granted, or `null` when the term is over first. */
  renew(): Promise<SendMoment | null> {
    if (this.#isOver) return Promise.resolve(null);
    return new Promise((resolve) => {
      const number = this.#nextRound();
      if (number === null) return resolve(null);
      this.#waiters.add({ number, resolve });
    });
  }

  /**
   * Stops acting, then releases the term everywhere, as far as the voters answer: at once if the owner asked for the
   * end, because it has stopped; otherwise when the deadline has passed, because the owner may not know yet.
   * Idempotent.
   */
  end(cause: LossCause, newer: Configuration | null = null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const leftMs = ASKED_FOR.has(cause) ? 0 : Math.max(0, this.#led.leftMs());
    this.#led.end();
    this.#cancelRound();
    this.#cancelDeadline();
    this.#abort.abort(new Error(`term ${this.term} is over: ${cause}`));
    for (const round of this.#rounds) round.end();
    for (const waiter of this.#waiters) waiter.resolve(null);
    this.#waiters.clear();
    this.#events.onEnd(cause, newer);
    const release = (): void => {
      this.#released = releaseEverywhere(this.#context, [this.config, newer], this.term);
    };
    if (leftMs === 0) release();
    else this.#context.clock.after(leftMs, release);
  }

  /** The number of the round that was sent; `null` if the term is over. */
  #nextRound(): number | null {
    this.#cancelRound();
    const { clock, ttlMs, membership } = this.#context;
    if (membership.leaving && !mustLeadOn(this.#context, this.config)) this.end("leaving");
    if (!this.#led.isInside()) this.end("expired");
    if (this.#isOver) return null;
    const round = this.#termState.round(sendMoment(clock), this.#wishes());
    this.#events.onHold(this.#termState.hold);
    void this.#send(round);
    this.#cancelRound = clock.after(ttlMs * ROUND, () => this.#nextRound());
    return round.number;
  }

  #wishes(): StepWishes {
    const { membership, holdStep } = this.#context;
    return { active: membership.active(), left: membership.left(), holdStep };
  }

  async #send(round: Round): Promise<void> {
    const { identity, endpoint, ttlMs, clock, voter, transport } = this.#context;
    const request = { leaderId: identity, leaderEndpoint: endpoint, term: this.term, ttlMs };
    // The leader's own copy is written last: until then its own vote is renewed with the electorate that counts.
    const own = voter.renew({ ...request, config: this.config });
    own.then(
      (verdict) => this.#answered(round, endpoint, verdict),
      () => this.end("disk-failed"),
    );
    const asking = askAll(
      clock,
      ttlMs,
      endpointsOf(this.#context, [this.config, round.config]),
      (to, signal) => transport.renew(to, { ...request, config: round.config }, { signal }),
      (verdict, askedAt) => this.#answered(round, askedAt, verdict),
    );
    this.#rounds.add(asking);
    await asking.done;
    this.#rounds.delete(asking);
  }

  #answered(round: Round, askedAt: string, verdict: LeaseVerdict): void {
    if (this.#isOver) return;
    const outcome = this.#termState.answer(round, askedAt, verdict);
    if (outcome.kind === "superseded") return this.end("superseded", outcome.config);
    if (outcome.earned) this.#renewed(round);
    if (outcome.store !== null) void this.#store(outcome.store);
  }

  #renewed(round: Round): void {
    // A later round has a later deadline: if this one's has passed, all have.
    if (!this.#extend(round.sent)) return this.end("expired");
    this.#earned = round.sent;
    for (const waiter of this.#waiters) {
      if (waiter.number > round.number) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(round.sent);
    }
    if (this.#termState.isRemovalDue(this.#wishes(), false)) this.#nextRound();
  }

  async #store(config: Configuration): Promise<void> {
    try {
      await this.#context.voter.adopt(config);
    } catch {
      return this.end("disk-failed");
    }
    if (!this.#led.isInside()) this.end("expired");
    if (this.#isOver) return;
    const wasLeading = this.#termState.isLeading;
    this.#termState.stored(config);
    if (!wasLeading) this.#events.onLeading();
    if (!this.#isOver && this.#termState.isRemovalDue(this.#wishes(), true)) this.#nextRound();
  }

  /** False if the deadline has passed already. */
  #extend(sent: SendMoment): boolean {
    const { clock, ttlMs } = this.#context;
    if (!this.#led.extend({ sent, ttlMs })) return false;
    this.#cancelDeadline();
    const noticeMs = ttlMs * NOTICE;
    this.#cancelDeadline = clock.after(this.#led.leftMs() - noticeMs, () => this.end("expired"));
    return true;
  }
}
