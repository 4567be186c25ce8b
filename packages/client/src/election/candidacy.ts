/**
 * Campaigns until this process wins.
 *
 * Usually one campaign waits in the elector's queue, so that the next leader is chosen in the same write that ends the
 * old lease. With a takeover delay, or with `campaignWaitMs` 0 (for processes with too many elections to hold a request
 * open for each), the process campaigns when the watch shows a vacancy.
 *
 * A campaign that was given up may still have won. So this process then asks who leads, and resigns if it does.
 */
import {
  type CampaignResult,
  type Elector,
  type LeaseAnswer,
  type Metadata,
  sendMoment,
  sleep,
} from "@tenure/core";
import { LinkedController, within } from "@tenure/core/internal";
import type { Breaker } from "./breaker.js";
import type { Comeback } from "./comeback.js";
import { ENDED } from "./ended.js";
import { AttemptsExhaustedError } from "./errors.js";
import type { Health } from "./health.js";
import type { LeaderWatch } from "./leader-watch.js";
import type { ParsedElection } from "./options.js";
import type { Preparation } from "./preparation.js";
import type { Reporter } from "./reporter.js";
import { Backoff, codeOf, isPermanent } from "./retry.js";

export type Elected = Extract<CampaignResult, { kind: "elected" }>;

export interface Won {
  readonly result: Elected;
  readonly answer: LeaseAnswer;
}

export interface CandidacyParts {
  readonly elector: Elector;
  readonly options: ParsedElection;
  readonly instanceId: string;
  readonly breaker: Breaker;
  readonly health: Health;
  readonly watch: LeaderWatch;
  readonly comeback: Comeback;
  readonly preparation: Preparation;
  readonly reporter: Reporter;
  readonly metadata: () => Metadata | undefined;
  /** Called when the process leaves the contest because it is unhealthy, and when it returns. */
  readonly standing: (healthy: boolean) => void;
  /** No campaign is sent before this time, because the process resigned or failed as leader. */
  readonly standAgainAtMs: () => number;
  /** Done once, before the first campaign. */
  readonly prepare: (signal: AbortSignal) => Promise<void>;
  /** Gives back a term that this process does not lead. */
  readonly giveBack: (term: number) => Promise<void>;
}

/** Without news from the watch, a lost campaign is not repeated before this time. */
const LOST_RETRY_MS = 1000;

/**
 * The share of the ttl that a campaign's answer may take. It is larger than a renewal's share, which must leave time
 * for another try. A campaign that is given up too early has often won, and then the group has a leader that does not
 * work until the term is given back or expires.
 */
const ANSWER_SHARE = 0.5;
/**
 * How often a process that withdraws asks whether it has won. The first question may go to the same server that did not
 * answer the campaign.
 */
const MAX_ASKED = 2;
/** The largest share of the first lease that a wait in the elector's queue may cost. */
const MAX_LEASE_FOR_WAIT = 0.25;

export class Candidacy {
  readonly #parts: CandidacyParts;
  readonly #backoff: Backoff;
  /** The first campaign does not wait, so that `start()` resolves soon. */
  #asked = false;
  #prepared = false;
  /** A campaign was sent, and its outcome is unknown. */
  #mayHaveWon = false;

  constructor(parts: CandidacyParts) {
    this.#parts = parts;
    this.#backoff = new Backoff(parts.options.retry, parts.options.random);
  }

  /**
   * Ends when this process has won, when the signal aborts, or when it gives up according to the options. `answered` is
   * called when the first campaign was answered or has failed.
   */
  async seek(signal: AbortSignal, answered: () => void): Promise<Won> {
    const { options, standAgainAtMs } = this.#parts;
    const restMs = standAgainAtMs() - options.clock.monotonicMs();
    try {
      if (restMs > 0) await sleep(options.clock, restMs, signal);
      return await this.#untilWon(signal, answered);
    } catch (error) {
      await this.#withdraw();
      throw error;
    }
  }

  /** Another part of this election sent a campaign whose outcome is unknown. */
  suspect(): void {
    this.#mayHaveWon = true;
  }

  async #untilWon(signal: AbortSignal, answered: () => void): Promise<Won> {
    for (;;) {
      signal.throwIfAborted();
      await this.#fit(signal, answered);
      await this.#warm(signal, answered);
      await this.#opportunity(signal, answered);
      const done = await this.#parts.breaker.admit(signal);
      const startedAtMs = this.#parts.options.clock.monotonicMs();
      const waitMs = this.#waitMs();
      try {
        await this.#prepare(signal);
        const won = await this.#campaign(waitMs, signal);
        done("answered");
        this.#backoff.reset();
        this.#parts.reporter.answered();
        if (won.result.kind === "elected") return { ...won, result: won.result };
        this.#parts.reporter.campaignLost(won.result);
        this.#noteLeader(won.result);
        answered();
        const shortestMs = waitMs * (1 - 2 * this.#parts.options.driftRatio);
        await this.#afterLoss(won.result, startedAtMs + shortestMs, signal);
      } catch (error) {
        if (signal.aborted || error instanceof GivenUpError) done("given-up");
        else done(isPermanent(error) ? "answered" : "failed");
        signal.throwIfAborted();
        await this.#afterFailure(error, answered, signal);
      } finally {
        this.#asked = true;
      }
    }
  }

  /** Whether this process waits in the elector's queue instead of waiting for the watch. */
  get #queues(): boolean {
    const { campaignWaitMs, takeoverDelayMs } = this.#parts.options;
    return campaignWaitMs > 0 && takeoverDelayMs === 0;
  }

  /** While the breaker is open, all others wait for this campaign, so it must not wait for the leader to end. */
  #waitMs(): number {
    const { breaker, options } = this.#parts;
    if (!this.#asked || !this.#queues || breaker.isOpen) return 0;
    // The clocks of both sides may disagree about the wait by twice the drift, and the first lease is shorter by that.
    const longestMs = (options.ttlMs * MAX_LEASE_FOR_WAIT) / (2 * options.driftRatio);
    return Math.floor(Math.min(options.campaignWaitMs, longestMs));
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const { prepare, options } = this.#parts;
    if (this.#prepared) return;
    await within(options.clock, { limitMs: options.connectionTimeoutMs, signal }, prepare);
    this.#prepared = true;
  }

  /** One campaign, given up as soon as the process is no longer fit to lead. */
  async #campaign(
    waitMs: number,
    signal: AbortSignal,
  ): Promise<{ result: CampaignResult; answer: LeaseAnswer }> {
    const { elector, options, instanceId, reporter, preparation } = this.#parts;
    const { clock, groupId, nodeId, ttlMs, priority } = options;
    const metadata = this.#parts.metadata();
    const ready = preparation.isReady;
    const request = { groupId, nodeId, instanceId, ttlMs, priority, metadata, ready, waitMs };
    const answerMs = Math.max(options.connectionTimeoutMs, ttlMs * ANSWER_SHARE);
    const end = reporter.campaignSpan();
    const attempt = new LinkedController(signal);
    const sent = sendMoment(clock);
    void this.#whileFit(attempt);
    // The next campaign keeps the place in the queue: the elector recognizes it by node and instance.
    const stopPreparing = ready ? () => {} : preparation.onReady(() => attempt.abort(new GivenUpError()));
    this.#mayHaveWon = true;
    try {
      const result = await within(clock, { limitMs: waitMs + answerMs, signal: attempt.signal }, (limit) =>
        elector.campaign(request, { signal: limit }),
      );
      this.#mayHaveWon = false;
      end(result.kind);
      const waitedMs = result.kind === "elected" ? result.waitedMs : undefined;
      return { result, answer: { sent, ttlMs, waitedMs } };
    } catch (error) {
      end("failed");
      if (isPermanent(error)) this.#mayHaveWon = false;
      throw error;
    } finally {
      attempt.unlink();
      stopPreparing();
      attempt.abort(ENDED);
    }
  }

  /** Waits until the process is ready, if the options forbid campaigning before that. */
  async #warm(signal: AbortSignal, answered: () => void): Promise<void> {
    const { preparation, options } = this.#parts;
    if (options.campaignWhilePreparing || preparation.isReady) return;
    answered();
    await preparation.ready(signal);
    signal.throwIfAborted();
  }

  /** Best effort: a term that cannot be given back now expires by itself. */
  async #withdraw(): Promise<void> {
    if (!this.#mayHaveWon) return;
    this.#mayHaveWon = false;
    const { options, watch, giveBack } = this.#parts;
    const { clock, nodeId, connectionTimeoutMs } = options;
    for (let asked = 0; asked < MAX_ASKED; asked++) {
      try {
        const { leader } = await within(clock, { limitMs: connectionTimeoutMs }, (signal) =>
          watch.ask(signal),
        );
        if (leader?.nodeId === nodeId) await giveBack(leader.term);
        return;
      } catch {
        // Another server may answer.
      }
    }
  }

  /** Aborts the attempt when the process turns out unfit; ends with the attempt. */
  async #whileFit(attempt: AbortController): Promise<void> {
    const { health, options } = this.#parts;
    if (options.healthChecker === null) return;
    try {
      for (;;) {
        await sleep(options.clock, options.heartbeatIntervalMs, attempt.signal);
        if (!(await health.check(attempt.signal))) attempt.abort(new GivenUpError());
      }
    } catch {
      // The attempt has ended.
    }
  }

  /** Waits until the process is fit to lead. */
  async #fit(signal: AbortSignal, answered: () => void): Promise<void> {
    const { health, options, standing } = this.#parts;
    if (await health.check(signal)) return;
    standing(false);
    answered();
    await this.#withdraw();
    do {
      await sleep(options.clock, options.heartbeatIntervalMs, signal);
    } while (!(await health.check(signal)));
    standing(true);
  }

  /** With a takeover delay: waits until the group is vacant, and has been for the delay if its leader was lost. */
  async #opportunity(signal: AbortSignal, answered: () => void): Promise<void> {
    const { options, watch, comeback } = this.#parts;
    const { takeoverDelayMs, nodeId, connectionTimeoutMs } = options;
    if (takeoverDelayMs === 0) return;
    for (;;) {
      const { known } = watch;
      if (comeback.heldTerm !== null) {
        await comeback.look(signal);
      } else if (known !== null && known.nodeId === null) {
        // It is not known yet why the group became vacant: treat it as if its leader was lost.
        const isLost = known.reason === "expired" || (known.reason === "none" && known.term > 0);
        const held = isLost && watch.previousId !== nodeId;
        const leftMs = held ? takeoverDelayMs - watch.ageMs : 0;
        if (leftMs <= 0) return;
        answered();
        await watch.changed(leftMs, signal);
      } else if (known?.nodeId === nodeId) {
        return;
      } else if (known === null) {
        await watch.changed(connectionTimeoutMs, signal);
        // No news for `connectionTimeoutMs`: `start()` need not wait any longer.
        if (watch.known === null) answered();
      } else {
        answered();
        await watch.changed(Number.POSITIVE_INFINITY, signal);
      }
    }
  }

  /**
   * After a wait that ended, the next campaign follows at once. It also follows at once if the leader named in the
   * refusal is known to be gone: the watch may have shown that before the answer came, and will not show it again.
   * After any other refusal the next campaign follows when the watch shows a change, when the group is no longer held
   * back (no event shows that), or after a while.
   */
  async #afterLoss(
    { leader, retryAfterMs, heldBackForMs }: Extract<CampaignResult, { kind: "lost" }>,
    waitedUntilMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { options, watch } = this.#parts;
    const { clock, random, driftRatio } = options;
    if (this.#queues && clock.monotonicMs() >= waitedUntilMs) return;
    if (leader !== null && watch.known?.nodeId === null && watch.known.term >= leader.term) return;
    // `retryAfterMs` is already spread by the elector.
    const retryMs = Math.max(retryAfterMs, LOST_RETRY_MS * (1 + random()));
    // The elector counts this time on its own clock.
    const heldBackMs = Math.max(1, (heldBackForMs ?? Number.POSITIVE_INFINITY) * (1 + 2 * driftRatio));
    await watch.changed(Math.min(retryMs, heldBackMs), signal);
  }

  async #afterFailure(error: unknown, answered: () => void, signal: AbortSignal): Promise<void> {
    const { options, reporter, watch, comeback } = this.#parts;
    if (error instanceof GivenUpError) return;
    if (codeOf(error) === "CLOSED" || (isPermanent(error) && !this.#asked)) {
      reporter.requestFailed("campaign", error);
      throw error;
    }
    const pauseMs = this.#backoff.next(error);
    reporter.requestFailed("campaign", error, pauseMs);
    answered();
    const { maxAttempts } = options.retry;
    if (maxAttempts > 0 && this.#backoff.failures >= maxAttempts) {
      throw new AttemptsExhaustedError(
        `${maxAttempts} campaigns in a row failed, as many as retry.maxAttempts allows`,
        { cause: error },
      );
    }
    // No further campaign is sent before there is an answer; otherwise the breaker would open.
    if (!comeback.isAwaited)
      return isPermanent(error) ? watch.changed(pauseMs, signal) : this.#pause(pauseMs, signal);
    while (comeback.isAwaited && !(await comeback.look(signal)));
  }

  /** Waits until there is news, or until the elector answers again. */
  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { watch, breaker } = this.#parts;
    const ending = new LinkedController(signal);
    const pauses = [watch.changed(delayMs, ending.signal), breaker.pause(delayMs, ending.signal)];
    await Promise.race(pauses).catch(() => {});
    ending.unlink();
    ending.abort(ENDED);
    await Promise.allSettled(pauses);
    signal.throwIfAborted();
  }

  #noteLeader({ leader }: Extract<CampaignResult, { kind: "lost" }>): void {
    if (leader !== null) {
      this.#parts.watch.note({ nodeId: leader.nodeId, term: leader.term, reason: "none" }, null);
    }
  }
}

/** The process is no longer fit to lead, or has become ready and campaigns again: this campaign is given up. */
class GivenUpError extends Error {}
