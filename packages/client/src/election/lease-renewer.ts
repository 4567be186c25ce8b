/**
 * Keeps a lease by a renewal at each heartbeat until it is stopped. It decides nothing: what the outcome of a renewal
 * means for the leadership is decided in `Leadership`.
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

/** One is created for each lease that was won, and started only if that term is to be led. */
export interface LeaseRenewer {
  readonly lease: Lease;
  /** False if the lease that was won has already expired. */
  start(): boolean;
  /** After it no renewal is sent and nothing is reported. The rest of the lease stays readable. */
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
  /** Called before each heartbeat; no renewal is sent unless it returns true. */
  readonly mayRenew: () => Promise<boolean>;
  readonly renewed: (answer: Extract<RenewResult, { kind: "renewed" }>, seconds: number) => void;
  readonly notLeader: () => void;
  /** `repeated`: a retry between two heartbeats. */
  readonly failed: (error: unknown, seconds: number, repeated: boolean) => void;
  /** The lease can no longer be renewed. */
  readonly broken: (error: unknown) => void;
}

/** The options of an election that a renewer may refuse. */
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

/** The type of the option `renewer`: creates the part that renews the lease. `workerRenewer` returns one. */
export interface LeaseRenewerFactory {
  (parts: LeaseRenewerParts): LeaseRenewer;
  /** Opens what its renewers need, before the first campaign of an election. Rejects if that fails. */
  readonly open?: (() => Promise<LeaseRenewerHold>) | undefined;
  /** Throws if the options do not fit; called when the election is created, before it can win anything. */
  readonly check?: ((options: LeaseRenewerOptions) => void) | undefined;
}

/** The share of the ttl after which a renewal without an answer counts as lost. No service takes longer for a renewal. */
export const ANSWER_SHARE: number = 1 / 3;

/**
 * One renewal may be lost or delayed while the other succeeds. More would only wait for each other: a store writes them
 * in sequence.
 */
const MAX_UNDER_WAY = 2;

/** Renews on the event loop of this process. */
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
      // Only a failed renewal is repeated; one that may still be answered is waited for.
      while (this.#underWay === 0) {
        const pauseMs = this.#backoff.next();
        if (pauseMs >= this.#timer.untilNextMs()) break;
        await sleep(clock, pauseMs, signal);
        if (await this.#renew(true)) break;
      }
    }
  }

  /**
   * True if there was any answer in time. A later answer still counts: neither a store that is slower than a heartbeat,
   * nor a process that was paused with the answer unread, must lose the leadership.
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
      // An answer after its own deadline adds nothing; the end of the lease is detected elsewhere.
      else if (this.lease.extend({ sent, ttlMs: renewal.ttlMs })) renewed(result, secondsSince(sent, clock));
    } finally {
      this.#underWay -= 1;
    }
  }
}

function secondsSince({ monotonicMs }: SendMoment, clock: Clock): number {
  return (clock.monotonicMs() - monotonicMs) / 1000;
}
