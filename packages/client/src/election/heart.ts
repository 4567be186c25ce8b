/**
 * What keeps a lease: renewals, one after the other, until told to stop. It judges nothing: what a renewal's outcome means
 * for the leadership is for `Leadership` to say.
 */
import {
  type Clock,
  type Elector,
  type LeaseAnswer,
  type RenewRequest,
  type RenewResult,
  sendMoment,
  sleep,
} from "@tenure/core";
import { callWithin } from "./call-within.js";
import { ENDED } from "./ended.js";
import { type Lease, LocalLease } from "./lease.js";
import type { ParsedRetry } from "./options.js";
import { Pulse } from "./pulse.js";
import { Backoff } from "./retry.js";

/** One is made for each lease that was won, and started only if that term is to be led. */
export interface Heart {
  readonly lease: Lease;
  /** False if the lease that was won is over already. */
  start(): boolean;
  /** No renewal is sent and nothing is reported afterwards. What is left of the lease stays readable. */
  stop(): void;
}

export interface HeartParts {
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
  readonly mayBeat: () => Promise<boolean>;
  readonly renewed: (answer: Extract<RenewResult, { kind: "renewed" }>, seconds: number) => void;
  readonly notLeader: () => void;
  /** `repeated`: between two heartbeats, after one that failed. */
  readonly failed: (error: unknown, seconds: number, repeated: boolean) => void;
}

/** What an election is made with, as far as a heart may object to it. */
export interface HeartOptions {
  readonly heartbeatIntervalMs: number;
  readonly clock: Clock;
}

export interface HeartFactory {
  (parts: HeartParts): Heart;
  /** Throws what is wrong with the options; called when the election is made, before it can win anything. */
  readonly check?: ((options: HeartOptions) => void) | undefined;
}

/** On the event loop of this process. */
export class LocalHeart implements Heart {
  readonly lease: LocalLease;
  readonly #parts: HeartParts;
  readonly #pulse: Pulse;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();

  constructor(parts: HeartParts) {
    this.#parts = parts;
    this.#pulse = Pulse.of(parts.clock, parts.heartbeatIntervalMs);
    this.#backoff = new Backoff(parts.retry, parts.random);
    this.lease = new LocalLease(parts.renewal.term, parts.clock, parts.driftRatio);
  }

  start(): boolean {
    if (!this.lease.extend(this.#parts.won)) return false;
    // It ends by the abort alone.
    this.#beat().catch(() => {});
    return true;
  }

  stop(): void {
    this.#stopping.abort(ENDED);
  }

  async #beat(): Promise<never> {
    const { clock, mayBeat } = this.#parts;
    const { signal } = this.#stopping;
    for (;;) {
      await this.#pulse.next(signal);
      if (!(await mayBeat())) continue;
      signal.throwIfAborted();
      if (await this.#renew(false)) continue;
      for (;;) {
        const pauseMs = this.#backoff.next();
        if (pauseMs >= this.#pulse.untilNextMs()) break;
        await sleep(clock, pauseMs, signal);
        if (await this.#renew(true)) break;
      }
    }
  }

  /** True if there was an answer, whichever. */
  async #renew(repeated: boolean): Promise<boolean> {
    const { clock, elector, renewal, timeoutMs, renewed, notLeader, failed } = this.#parts;
    const { signal } = this.#stopping;
    const sent = sendMoment(clock);
    const seconds = () => (clock.monotonicMs() - sent.monotonicMs) / 1000;
    try {
      const result = await callWithin(clock, timeoutMs, signal, (limit) =>
        elector.renew(renewal, { signal: limit }),
      );
      signal.throwIfAborted();
      this.#backoff.reset();
      if (result.kind === "not-leader") notLeader();
      // An answer that comes after its deadline gives nothing; the lease's own end says the rest.
      else if (this.lease.extend({ sent, ttlMs: renewal.ttlMs })) renewed(result, seconds());
      return true;
    } catch (error) {
      signal.throwIfAborted();
      failed(error, seconds(), repeated);
      return false;
    }
  }
}
