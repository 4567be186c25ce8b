/**
 * The leader's side of a lease: how long the process may act.
 *
 * The deadline counts from before the request was sent, so it passes here before the lease can expire at any server. It
 * is kept on the monotonic clock and on the boot clock, which advances during suspend; the earlier one counts. The wall
 * clock is not used.
 *
 * A term is led once. When its deadline has passed, a resign was sent, or the answer was NOT_LEADER, the term is over
 * for this process, whatever answers still arrive.
 */
import type { Clock } from "../clock.js";
import { leadMs } from "../lease-time.js";

/** Both clocks, read right before a request is sent. */
export interface SendMoment {
  readonly monotonicMs: number;
  readonly bootMs: number;
}

export function sendMoment(clock: Clock): SendMoment {
  return { monotonicMs: clock.monotonicMs(), bootMs: clock.bootMs() };
}

/** The parts of a successful campaign or renewal from which the leader computes its deadline. */
export interface LeaseAnswer {
  readonly sent: SendMoment;
  readonly ttlMs: number;
  /** For a campaign that waited: from its arrival to the sending of the winning write, on the server's clock. */
  readonly waitedMs?: number | undefined;
}

export class LedTerm {
  readonly term: number;
  readonly #clock: Clock;
  readonly #driftRatio: number;
  #monotonicDeadlineMs = Number.NEGATIVE_INFINITY;
  #bootDeadlineMs = Number.NEGATIVE_INFINITY;
  #over = false;

  constructor(term: number, clock: Clock, driftRatio: number) {
    this.term = term;
    this.#clock = clock;
    this.#driftRatio = driftRatio;
  }

  /**
   * Extends the deadline by an answer. False if the answer adds nothing: the term is over, or the answer came after its
   * own deadline.
   */
  extend(answer: LeaseAnswer): boolean {
    const begun = this.#monotonicDeadlineMs !== Number.NEGATIVE_INFINITY;
    if (this.#over || (begun && !this.isInside())) return false;
    const monotonicMs = this.#clock.monotonicMs();
    const bootMs = this.#clock.bootMs();
    const deadlineMs = this.#deadline(answer, answer.sent.monotonicMs, monotonicMs);
    const bootDeadlineMs = this.#deadline(answer, answer.sent.bootMs, bootMs) - this.#clock.bootTickMs;
    if (monotonicMs >= deadlineMs || bootMs >= bootDeadlineMs) return false;
    this.#monotonicDeadlineMs = Math.max(this.#monotonicDeadlineMs, deadlineMs);
    this.#bootDeadlineMs = Math.max(this.#bootDeadlineMs, bootDeadlineMs);
    return true;
  }

  /** Whether the process may act right now. Once false, always false. */
  isInside(): boolean {
    if (this.#over) return false;
    if (this.leftMs() > 0) return true;
    this.#over = true;
    return false;
  }

  /** How long the process may act; 0 or less when it may not. */
  leftMs(): number {
    if (this.#over) return 0;
    return Math.min(
      this.#monotonicDeadlineMs - this.#clock.monotonicMs(),
      this.#bootDeadlineMs - this.#clock.bootMs(),
    );
  }

  /** Call it when a resign is about to be sent or NOT_LEADER was received. */
  end(): void {
    this.#over = true;
  }

  /** The wait counts less by the error of both clocks. The deadline is never later than one lease from now. */
  #deadline(answer: LeaseAnswer, sentMs: number, nowMs: number): number {
    const spanMs = leadMs(answer.ttlMs, this.#driftRatio);
    const waitedMs = Math.floor((answer.waitedMs ?? 0) * (1 - 2 * this.#driftRatio));
    return Math.min(sentMs + waitedMs, nowMs) + spanMs;
  }
}
