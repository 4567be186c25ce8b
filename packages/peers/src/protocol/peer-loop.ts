/**
 * What a peer does by itself: it asks the other peers, founds or finds its cluster, campaigns, and leads until its term
 * is over. Each turn is followed by a random wait.
 */
import { ClosedError, type SendMoment, sleep } from "@tenure/core";
import { BOOTSTRAP_WAIT, decideBootstrap } from "./bootstrap.js";
import type { Campaigns } from "./campaigns.js";
import { decideCandidacy } from "./candidacy-decision.js";
import { standFor } from "./candidacy.js";
import { mustLeadOn } from "./leaving.js";
import type { Configuration, PeerState } from "./messages.js";
import type { Observing } from "./observing.js";
import type { PeerContext } from "./peer-context.js";
import type { ParsedPeerOptions } from "./peer-options.js";
import type { NotStandingReason } from "./peer-status.js";
import type { Reporting } from "./reporting.js";
import { TermLoop } from "./term-loop.js";

/** Random waits, as shares of the ttl. */
const ASK_AGAIN = [1 / 10, 1 / 2] as const;
const STAND_AGAIN = [1 / 10, 1] as const;
const AT_ONCE = [0, 0] as const;

type Wait = readonly [from: number, to: number];

export interface PeerLoopParts {
  readonly options: ParsedPeerOptions;
  readonly context: PeerContext;
  readonly campaigns: Campaigns;
  readonly observing: Observing;
  readonly reporting: Reporting;
}

export class PeerLoop {
  readonly #parts: PeerLoopParts;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #termLoop: TermLoop | null = null;
  readonly #startedMs: number;

  constructor(parts: PeerLoopParts) {
    this.#parts = parts;
    this.#startedMs = parts.context.clock.monotonicMs();
  }

  start(): void {
    this.#running = this.#run();
  }

  /** The term that this peer has won and not yet lost; it leads only while `termLoop.isLeading`. */
  get termLoop(): TermLoop | null {
    return this.#termLoop;
  }

  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends the term that it leads. Resolves when that term is released and the loop has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new ClosedError("the peer was stopped"));
    const termLoop = this.#termLoop;
    termLoop?.end("stopped");
    this.#parts.campaigns.wake();
    await this.#running;
    await termLoop?.released;
  }

  /** Waits as long as between two rounds of questions. */
  pause(signal: AbortSignal): Promise<void> {
    return sleep(this.#parts.context.clock, this.#draw(ASK_AGAIN), signal);
  }

  async #run(): Promise<void> {
    const { campaigns, reporting, context } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const attempt = campaigns.begin();
      // A disk that fails must not end the loop: this peer grants nothing and tries again.
      const wait = await this.#turn().catch((cause: unknown) => {
        const why = cause instanceof Error ? cause.message : String(cause);
        return this.#standBack("disk-failed", why, STAND_AGAIN);
      });
      reporting.changed();
      attempt.end(wait === AT_ONCE);
      if (signal.aborted) return;
      await sleep(context.clock, this.#draw(wait), attempt.wake).catch(() => {});
    }
  }

  /** One turn of the loop: what to do next, and how long to wait after it. */
  async #turn(): Promise<Wait> {
    const { context, observing } = this.#parts;
    const { voter, identity } = context;
    const lease = voter.lease();
    if (lease !== null && lease.leaderId !== identity) {
      return this.#standBack("lease-active", `this server holds a lease of ${lease.leaderId}`);
    }
    const answers = await observing.ask();
    if (this.#stopping.signal.aborted) return ASK_AGAIN;
    const { config } = voter;
    if (config === null) return this.#firstStart(answers);
    const states = [...answers.values()];
    const decision = decideCandidacy(voter.state(), config, states);
    await voter.adopt(decision.config);
    observing.take(states, decision.config.cluster);
    if (decision.kind === "stand-back") return this.#standBack(decision.why, decision.detail);
    if (!this.#isWanted()) return this.#standBack("not-asked", "no campaign asks this server to stand");
    if (context.membership.leaving && !mustLeadOn(context, decision.config)) {
      return this.#standBack("leaving", "this server is leaving the cluster");
    }
    return this.#stand(decision.config, decision.term);
  }

  async #firstStart(answers: Map<string, PeerState>): Promise<Wait> {
    const { options, context, reporting } = this.#parts;
    const { join, endpoint } = options;
    const own = context.voter.state();
    if (join.includes(endpoint)) answers.set(endpoint, own);
    const listenedMs = context.clock.monotonicMs() - this.#startedMs;
    const hasListened = listenedMs >= BOOTSTRAP_WAIT * options.ttlMs;
    const decision = decideBootstrap(own, join, answers, hasListened);
    if (decision.kind === "wait") {
      reporting.tell({ kind: "waiting", for: decision.for, why: decision.why });
      return this.#standBack("not-founded", decision.why);
    }
    await context.voter.adopt(decision.config);
    if (decision.kind === "found") reporting.tell({ kind: "founded", config: decision.config });
    return AT_ONCE;
  }

  async #stand(config: Configuration, term: number): Promise<Wait> {
    const { context, reporting } = this.#parts;
    const result = await standFor(context, config, term);
    switch (result.kind) {
      case "won":
        reporting.setNotStanding(null);
        await this.#lead(config, term, result.sent);
        return STAND_AGAIN;
      case "outdated":
        await context.voter.adopt(result.config);
        return AT_ONCE;
      case "lost":
        return this.#standBack("not-elected", "no majority of the electorate voted for it", STAND_AGAIN);
    }
  }

  #standBack(reason: NotStandingReason, detail: string, wait: Wait = ASK_AGAIN): Wait {
    this.#parts.reporting.setNotStanding({ reason, detail });
    return wait;
  }

  /** Resolves when the term is over. */
  #lead(config: Configuration, term: number, sent: SendMoment): Promise<void> {
    const { context, reporting } = this.#parts;
    return new Promise((resolve) => {
      let hasLed = false;
      const termLoop = new TermLoop(context, config, term, sent, {
        onLeading: () => {
          // The caller that asked is gone, so the term is given back.
          if (!this.#isWanted()) return termLoop.end("resigned");
          hasLed = true;
          reporting.tell({ kind: "elected", term, signal: termLoop.signal });
          reporting.changed();
        },
        onHold: (hold) => reporting.setHeldBack(hold),
        onEnd: (cause, newer) => {
          this.#termLoop = null;
          reporting.setHeldBack(null);
          if (newer !== null) void context.voter.adopt(newer).catch(() => {});
          if (hasLed) reporting.tell({ kind: "lost", term, cause });
          reporting.changed();
          resolve();
        },
      });
      this.#termLoop = termLoop;
      if (this.#stopping.signal.aborted) termLoop.end("stopped");
      else termLoop.start();
    });
  }

  #isWanted(): boolean {
    const { options, context, campaigns } = this.#parts;
    const { config } = context.voter;
    if (options.stands === "always" || campaigns.isAsked) return true;
    return context.membership.leaving && config !== null && mustLeadOn(context, config);
  }

  #draw([from, to]: Wait): number {
    const { ttlMs, random } = this.#parts.options;
    return ttlMs * (from + (to - from) * random());
  }
}
