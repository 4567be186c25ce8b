/**
 * The leader's side of a lease: until when it may act.
 *
 * The deadline counts from before the request was sent, so it is over here before it can be over for any server. It
 * is kept on the monotonic clock and on the one that runs through suspend; the stricter counts. The wall clock takes
 * no part.
 *
 * A term is led once: when its deadline has passed, a resign was sent, or the answer was NOT_LEADER, it is over for
 * this process for good, whatever answers still arrive.
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

/** What a successful campaign or renewal tells the leader. */
export interface LeaseAnswer {
  readonly sent: SendMoment;
  readonly ttlMs: number;
  /** Of a waiting campaign: arrival to the sending of the winning write, on the server's clock. */
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

  /** Takes an answer into account. False if it gives nothing: the term is over, or the answer came after its own deadline. */
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

  /** A resign is about to be sent, or NOT_LEADER has come. */
  end(): void {
    this.#over = true;
  }

  /** A wait is shortened by both clocks' errors; nothing reaches further than one lease from now. */
  #deadline(answer: LeaseAnswer, sentMs: number, nowMs: number): number {
    const spanMs = leadMs(answer.ttlMs, this.#driftRatio);
    const waitedMs = Math.floor((answer.waitedMs ?? 0) * (1 - 2 * this.#driftRatio));
    return Math.min(sentMs + waitedMs, nowMs) + spanMs;
  }
}
