/**
 * One leadership of this process: from the answer that won it to the moment it must stop acting.
 *
 * It is over for good when the lease has run out, when the elector says NOT_LEADER, or when anything else gives a reason to
 * stop; whichever comes first. The signal aborts then, and for a lease that runs out `stopMarginMs` earlier. Whoever stops
 * of its own will keeps the lease until its work has ended, lest the next leader begin before; only then may
 * the term be resigned, which is for `Election` to see to.
 */
import type { CancelTimer, Elector, LeaseAnswer } from "@tenure/core";
import { callWithin } from "./call-within.js";
import { NotLeadingError } from "./errors.js";
import type { Health } from "./health.js";
import { type Heart, LocalHeart } from "./heart.js";
import type { ParsedElection } from "./options.js";
import type { Reporter } from "./reporter.js";
import { isPermanent } from "./retry.js";
import type { DemoteReason, Mandate } from "./state.js";

/** The lease may well go on: it is renewed while the work ends. */
const KEEPS_LEASE: ReadonlySet<DemoteReason> = new Set(["stopped", "finished", "resigned", "transferred"]);

export interface LeadershipParts {
  readonly elector: Elector;
  readonly options: ParsedElection;
  readonly mandate: Mandate;
  readonly won: LeaseAnswer;
  readonly health: Health;
  readonly reporter: Reporter;
}

export class Leadership {
  readonly mandate: Mandate;
  /** Resolves with the first reason to stop. */
  readonly lost: Promise<DemoteReason>;
  readonly #parts: LeadershipParts;
  readonly #heart: Heart;
  readonly #stopping = new AbortController();
  #settle: (reason: DemoteReason) => void = () => {};
  #over = false;
  #token: string | undefined;
  #inDanger = false;
  #failedBeats = 0;
  #validatedAtMs = Number.NEGATIVE_INFINITY;
  #cancelWatchdog: CancelTimer = () => {};
  #cancelGrace: CancelTimer | null = null;
  #cancelValidation: CancelTimer = () => {};

  constructor(parts: LeadershipParts) {
    const { options, mandate, elector, won } = parts;
    this.#parts = parts;
    this.mandate = mandate;
    this.#token = mandate.token;
    this.lost = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const make = options.heart ?? ((heartParts) => new LocalHeart(heartParts));
    this.#heart = make({
      elector,
      won,
      renewal: {
        groupId: mandate.groupId,
        nodeId: mandate.nodeId,
        instanceId: mandate.instanceId,
        term: mandate.term,
        ttlMs: options.ttlMs,
      },
      heartbeatIntervalMs: options.heartbeatIntervalMs,
      timeoutMs: options.connectionTimeoutMs,
      retry: options.retry,
      driftRatio: options.driftRatio,
      clock: options.clock,
      random: options.random,
      mayBeat: () => this.#mayBeat(),
      renewed: (answer, seconds) => this.#renewed(answer, seconds),
      notLeader: () => {
        this.lose("not-leader");
        this.release();
      },
      failed: (error, seconds, repeated) => this.#failed(error, seconds, repeated),
    });
  }

  /** Aborts when this process must stop acting. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get token(): string | undefined {
    return this.#token;
  }

  get failedBeats(): number {
    return this.#failedBeats;
  }

  /** False if there is nothing left of the lease that was won. */
  begin(): boolean {
    if (!this.#heart.start()) return false;
    this.#watch();
    this.#scheduleValidation();
    return !this.#over;
  }

  /** Whether this process may act right now. The first time that it may not, the signal is aborted before the answer. */
  isLeading(): boolean {
    if (this.#over) return false;
    if (this.#heart.lease.isInside()) return true;
    this.lose("lapsed");
    return false;
  }

  /** Until somebody else can lead, whether this process still acts or is about to end. */
  leftMs(): number {
    return Math.max(0, this.#heart.lease.leftMs());
  }

  /** Idempotent: the first reason counts. */
  lose(reason: DemoteReason): void {
    if (this.#over) return;
    this.#over = true;
    if (!KEEPS_LEASE.has(reason)) this.#heart.stop();
    if (reason === "not-leader" || reason === "token-invalid") this.#heart.lease.end();
    this.#cancelWatchdog();
    this.#cancelGrace?.();
    this.#cancelValidation();
    const { groupId, term } = this.mandate;
    this.#stopping.abort(new NotLeadingError(`term ${term} of group ${groupId} is over: ${reason}`));
    this.#settle(reason);
  }

  /** The work has ended, or the lease has: no more renewals. */
  release(): void {
    this.#heart.stop();
    this.#heart.lease.end();
  }

  /** Asks the store whether this term leads. Rejects if it does not answer, which tells nothing. */
  async validate(): Promise<boolean> {
    const { elector, options, reporter } = this.#parts;
    const { fencing, clock, connectionTimeoutMs } = options;
    if (!this.isLeading()) return false;
    const askedAtMs = clock.monotonicMs();
    if (fencing.cacheToken && askedAtMs - this.#validatedAtMs < fencing.validationIntervalMs) return true;
    const { groupId, nodeId, term } = this.mandate;
    const { leader } = await callWithin(clock, connectionTimeoutMs, this.signal, (signal) =>
      elector.leader(groupId, { signal }),
    ).catch((error: unknown) => {
      // The end of the leadership is an answer too.
      if (this.signal.aborted) return { leader: null };
      throw error;
    });
    const valid = leader?.nodeId === nodeId && leader.term === term && this.isLeading();
    if (valid) this.#validatedAtMs = askedAtMs;
    else if (!this.signal.aborted) reporter.tokenInvalid();
    return valid;
  }

  async validateOrLose(): Promise<boolean> {
    const valid = await this.validate();
    if (!valid) this.lose("token-invalid");
    return valid;
  }

  async #mayBeat(): Promise<boolean> {
    const { health } = this.#parts;
    // Right after the machine slept, timers that run on the other clock are late.
    if (!this.#heart.lease.isInside()) {
      this.lose("lapsed");
      this.release();
      return false;
    }
    if (this.#over) return true;
    const healthy = await health.check(this.signal).catch(() => true);
    if (!healthy) this.lose("unhealthy");
    return true;
  }

  #renewed(answer: { readonly transferTo?: string; readonly mandate?: string }, seconds: number): void {
    this.#parts.reporter.heartbeat("renewed", seconds);
    this.#parts.reporter.contact(null);
    this.#failedBeats = 0;
    this.#cancelGrace?.();
    this.#cancelGrace = null;
    this.#token = answer.mandate;
    if (this.#inDanger && !this.#over) this.#watch();
    if (answer.transferTo !== undefined) this.lose("transferred");
  }

  #failed(error: unknown, seconds: number, repeated: boolean): void {
    const { options, reporter } = this.#parts;
    reporter.heartbeat("failed", seconds);
    reporter.contact(error);
    if (isPermanent(error)) return this.lose("refused");
    if (!repeated) this.#failedBeats += 1;
    const { maxConsecutiveFailures, disconnectGracePeriodMs, clock } = options;
    if (maxConsecutiveFailures !== null && this.#failedBeats >= maxConsecutiveFailures) {
      return this.lose("heartbeat-failed");
    }
    if (disconnectGracePeriodMs !== null) {
      this.#cancelGrace ??= clock.after(disconnectGracePeriodMs, () => this.lose("disconnected"));
    }
  }

  /** Looks when half the ttl has gone, and when the work has to end. A renewal moves both; then there is another look. */
  #watch(): void {
    const { ttlMs, stopMarginMs, clock, driftRatio } = this.#parts.options;
    this.#cancelWatchdog();
    const leftMs = this.#heart.lease.leftMs();
    if (leftMs <= stopMarginMs) return this.lose("lapsed");
    const dangerMs = Math.max(stopMarginMs, ttlMs * (0.5 - driftRatio));
    const inDanger = leftMs <= dangerMs;
    if (inDanger && !this.#inDanger) this.#parts.reporter.danger(leftMs);
    this.#inDanger = inDanger;
    const nextMs = leftMs - (inDanger ? stopMarginMs : dangerMs);
    this.#cancelWatchdog = clock.after(nextMs, () => this.#watch());
  }

  #scheduleValidation(): void {
    const { fencing, clock } = this.#parts.options;
    if (fencing.validationIntervalMs === 0 || this.#over) return;
    this.#cancelValidation = clock.after(fencing.validationIntervalMs, () => {
      // No answer tells nothing; the next question comes.
      void this.validateOrLose()
        .catch(() => {})
        .finally(() => this.#scheduleValidation());
    });
  }
}
