/**
 * What keeps a lease: renewals, a heartbeat apart, until told to stop. It judges nothing: what a renewal's outcome means
 * for the leadership is for `Leadership` to say.
 */
import {
  BackendUnavailableError,
  type Clock,
  type Elector,
  type LeaseAnswer,
  type RenewRequest,
  type RenewResult,
  sendMoment,
  type SendMoment,
  sleep,
} from "@tenure/core";
import { unlessAborted, within } from "@tenure/core/internal";
import { ENDED } from "./ended.js";
import { type Lease, LocalLease } from "./lease.js";
import type { ParsedRetry } from "./options.js";
import { RenewalTimer } from "./renewal-timer.js";
import { Backoff } from "./retry.js";

/** One is made for each lease that was won, and started only if that term is to be led. */
export interface LeaseRenewer {
  readonly lease: Lease;
  /** False if the lease that was won is over already. */
  start(): boolean;
  /** No renewal is sent and nothing is reported afterwards. What is left of the lease stays readable. */
  stop(): void;
}

export interface LeaseRenewerParts {
  readonly elector: Elector;
  readonly renewal: RenewRequest;
  /** When the campaign that won was sent, and how long it waited. */
  readonly won: LeaseAnswer;
  readonly heartbeatIntervalMs: number;
  readonly timeoutMs: number;
  readonly retry: ParsedRetry;
  readonly driftRatio: number;
  readonly clock: Clock;
  readonly random: () => number;
  /** Asked before each heartbeat; no renewal is sent unless it says yes. */
  readonly mayRenew: () => Promise<boolean>;
  readonly renewed: (answer: Extract<RenewResult, { kind: "renewed" }>, seconds: number) => void;
  readonly notLeader: () => void;
  /** `repeated`: between two heartbeats, after one that failed. */
  readonly failed: (error: unknown, seconds: number, repeated: boolean) => void;
  /** Nothing will be renewed any more. */
  readonly broken: (error: unknown) => void;
}

/** What an election is made with, as far as a renewer may object to it. */
export interface LeaseRenewerOptions {
  readonly heartbeatIntervalMs: number;
  readonly clock: Clock;
}

/** What a renewer factory keeps open while an election that uses it runs. */
export interface LeaseRenewerHold {
  /** False when it has failed, and must be opened again before the next campaign. */
  readonly isOpen: boolean;
  close(): void;
}

/** What the option `renewer` takes: makes the part that renews the lease. `workerRenewer` returns one. */
export interface LeaseRenewerFactory {
  (parts: LeaseRenewerParts): LeaseRenewer;
  /** Opens what its renewers need, before the first campaign of an election. Rejects if that cannot be done. */
  readonly open?: (() => Promise<LeaseRenewerHold>) | undefined;
  /** Throws what is wrong with the options; called when the election is made, before it can win anything. */
  readonly check?: ((options: LeaseRenewerOptions) => void) | undefined;
}

/** Of the ttl: what has not been answered then is as good as lost. No service takes longer over a renewal. */
const ANSWER_SHARE = 1 / 3;

/** One may be lost, or wait behind the other. More would be in each other's way: a store takes them one after the other. */
const MAX_UNDER_WAY = 2;

/** On the event loop of this process. */
export class LocalRenewer implements LeaseRenewer {
  readonly lease: LocalLease;
  readonly #parts: LeaseRenewerParts;
  readonly #timer: RenewalTimer;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  /** Renewals that may still be answered. */
  #underWay = 0;

  constructor(parts: LeaseRenewerParts) {
    this.#parts = parts;
    this.#timer = RenewalTimer.of(parts.clock, parts.heartbeatIntervalMs);
    this.#backoff = new Backoff(parts.retry, parts.random);
    this.lease = new LocalLease(parts.renewal.term, parts.clock, parts.driftRatio);
  }

  start(): boolean {
    if (!this.lease.extend(this.#parts.won)) return false;
    this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#parts.broken(error);
    });
    return true;
  }

  stop(): void {
    this.#stopping.abort(ENDED);
  }

  async #run(): Promise<never> {
    const { clock, mayRenew } = this.#parts;
    const { signal } = this.#stopping;
    for (;;) {
      await this.#timer.next(signal);
      if (!(await mayRenew())) continue;
      signal.throwIfAborted();
      if (await this.#renew(false)) continue;
      // Only what has failed is repeated; what may still be answered is waited for.
      while (this.#underWay === 0) {
        const pauseMs = this.#backoff.next();
        if (pauseMs >= this.#timer.untilNextMs()) break;
        await sleep(clock, pauseMs, signal);
        if (await this.#renew(true)) break;
      }
    }
  }

  /**
   * True if there was an answer in time, whichever. One that comes later is taken in all the same: a store that is slower
   * than a heartbeat, or a process held up with the answer unread, must not cost the leadership.
   */
  async #renew(repeated: boolean): Promise<boolean> {
    const { clock, timeoutMs, failed } = this.#parts;
    const { signal } = this.#stopping;
    const sent = sendMoment(clock);
    try {
      if (this.#underWay >= MAX_UNDER_WAY) throw new BackendUnavailableError("no renewal was answered yet");
      const asked = this.#ask(sent);
      asked.catch(() => {});
      await within(clock, { limitMs: timeoutMs, signal }, (limit) => unlessAborted(limit, asked));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      failed(error, secondsSince(sent, clock), repeated);
      return false;
    }
  }

  async #ask(sent: SendMoment): Promise<void> {
    const { clock, elector, renewal, renewed, notLeader } = this.#parts;
    const { signal } = this.#stopping;
    this.#underWay += 1;
    try {
      const result = await within(clock, { limitMs: renewal.ttlMs * ANSWER_SHARE, signal }, (limit) =>
        elector.renew(renewal, { signal: limit }),
      );
      signal.throwIfAborted();
      this.#backoff.reset();
      if (result.kind === "not-leader") notLeader();
      // An answer that comes after its deadline gives nothing; the lease's own end says the rest.
      else if (this.lease.extend({ sent, ttlMs: renewal.ttlMs })) renewed(result, secondsSince(sent, clock));
    } finally {
      this.#underWay -= 1;
    }
  }
}

function secondsSince({ monotonicMs }: SendMoment, clock: Clock): number {
  return (clock.monotonicMs() - monotonicMs) / 1000;
}
