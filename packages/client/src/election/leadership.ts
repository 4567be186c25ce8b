/**
 * One leadership of this process: from the answer that won it to the moment it must stop acting.
 *
 * It ends for good when the lease expires, when the elector answers NOT_LEADER, or with any other reason to stop,
 * whichever comes first. The signal aborts then; for a lease that expires it aborts `stopMarginMs` earlier. A process
 * that stops by its own choice keeps the lease until its work has ended, so that the next leader does not begin before.
 * Only then may the term be resigned, which `ElectionRun` does.
 */
import type { CancelTimer, Elector, LeaseAnswer, Metadata } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { NotLeadingError } from "./errors.js";
import type { Health } from "./health.js";
import { type LeaseRenewer, LocalRenewer } from "./lease-renewer.js";
import type { ParsedElection } from "./options.js";
import type { Reporter } from "./reporter.js";
import { isPermanent } from "./retry.js";
import type { DemoteReason, Mandate } from "./state.js";

/** With these reasons the lease may still be valid, and is renewed while the work ends. */
const KEEPS_LEASE: ReadonlySet<DemoteReason> = new Set([
  "stopped",
  "finished",
  "resigned",
  "transferred",
  "promote-failed",
]);

export interface LeadershipParts {
  readonly elector: Elector;
  readonly options: ParsedElection;
  readonly mandate: Mandate;
  readonly won: LeaseAnswer;
  readonly health: Health;
  readonly reporter: Reporter;
  /** Called once, before the signal aborts, so that listeners of the signal find the election in its new state. */
  readonly losing: (reason: DemoteReason, error: unknown) => void;
}

export class Leadership {
  readonly mandate: Mandate;
  /** Resolves with the first reason to stop. */
  readonly lost: Promise<DemoteReason>;
  readonly #parts: LeadershipParts;
  readonly #renewer: LeaseRenewer;
  readonly #stopping = new AbortController();
  #settle: (reason: DemoteReason) => void = () => {};
  readonly #beganAtMs: number;
  #reason: DemoteReason | null = null;
  #error: unknown;
  #renewals = 0;
  /** When the last answered renewal was sent; before the first one, when the leadership began. */
  #answeredAtMs: number;
  #token: string | undefined;
  #inDanger = false;
  #failedBeats = 0;
  #validatedAtMs = Number.NEGATIVE_INFINITY;
  #cancelWatchdog: CancelTimer = () => {};
  #cancelValidation: CancelTimer = () => {};

  constructor(parts: LeadershipParts) {
    const { options, mandate, elector, won } = parts;
    this.#parts = parts;
    this.#beganAtMs = options.clock.monotonicMs();
    this.#answeredAtMs = this.#beganAtMs;
    this.mandate = mandate;
    this.#token = mandate.token;
    this.lost = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const make = options.renewer ?? ((renewerParts) => new LocalRenewer(renewerParts));
    this.#renewer = make({
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
      mayRenew: () => this.#mayRenew(),
      renewed: (answer, seconds) => this.#renewed(answer, seconds),
      notLeader: () => {
        this.lose("not-leader");
        this.release();
      },
      failed: (error, seconds, repeated) => this.#failed(error, seconds, repeated),
      broken: (error) => {
        if (this.#over) return;
        parts.reporter.renewerFailed(error);
        this.lose("heart-failed");
      },
    });
  }

  /** Aborts when this process must stop acting. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get token(): string | undefined {
    return this.#token;
  }

  /** Why it has ended; `null` while it has not. */
  get reason(): DemoteReason | null {
    return this.#reason;
  }

  get wasRenewed(): boolean {
    return this.#renewals > 0;
  }

  get ageMs(): number {
    return this.#parts.options.clock.monotonicMs() - this.#beganAtMs;
  }

  get #over(): boolean {
    return this.#reason !== null;
  }

  get failedBeats(): number {
    return this.#failedBeats;
  }

  /** False if nothing is left of the lease that was won. */
  begin(): boolean {
    if (!this.#renewer.start()) return false;
    this.#watch();
    this.#scheduleValidation();
    return !this.#over;
  }

  /** Whether this process may act right now. On the first call that returns false, the signal aborts before the return. */
  isLeading(): boolean {
    if (this.#over) return false;
    if (this.#renewer.lease.isInside()) return true;
    this.lose("lapsed");
    return false;
  }

  /** Time until another node can lead, whether this process still acts or is about to stop. */
  leftMs(): number {
    return Math.max(0, this.#renewer.lease.leftMs());
  }

  /** The failed renewal that ended it, if one did. */
  get error(): unknown {
    return this.#error;
  }

  /** The first reason counts; later calls do nothing. `error`: the failed renewal that is the reason. */
  lose(reason: DemoteReason, error?: unknown): void {
    if (this.#over) return;
    this.#reason = reason;
    this.#error = error;
    if (!KEEPS_LEASE.has(reason)) this.#renewer.stop();
    if (reason === "not-leader" || reason === "token-invalid") this.#renewer.lease.end();
    this.#cancelWatchdog();
    this.#cancelValidation();
    this.#settle(reason);
    this.#parts.losing(reason, error);
    const { groupId, term } = this.mandate;
    // Last, because this runs the user's listeners.
    this.#stopping.abort(new NotLeadingError(`term ${term} of group ${groupId} is over: ${reason}`));
  }

  /** The work has ended, or the lease has: no more renewals. */
  release(): void {
    this.#renewer.stop();
    this.#renewer.lease.end();
  }

  /** Asks the store whether this term leads. Rejects if the store does not answer; then neither is known. */
  async validate(): Promise<boolean> {
    const { elector, options, reporter } = this.#parts;
    const { fencing, clock, connectionTimeoutMs } = options;
    if (!this.isLeading()) return false;
    const askedAtMs = clock.monotonicMs();
    if (fencing.cacheToken && askedAtMs - this.#validatedAtMs < fencing.validationIntervalMs) return true;
    const { groupId, nodeId, term } = this.mandate;
    const { leader } = await within(clock, { limitMs: connectionTimeoutMs, signal: this.signal }, (signal) =>
      elector.leader(groupId, { signal }),
    ).catch((error: unknown) => {
      // The end of the leadership is also an answer.
      if (this.signal.aborted) return { leader: null };
      throw error;
    });
    const valid = leader?.nodeId === nodeId && leader.term === term && this.isLeading();
    if (valid) this.#validatedAtMs = askedAtMs;
    else if (!this.signal.aborted) reporter.tokenInvalid();
    return valid;
  }

  /**
   * Campaigns again as the instance that leads, which keeps the term and replaces its metadata. The answer does not
   * extend the lease here; the next renewal does. Returns the other term that the campaign won, if this one was over
   * already.
   */
  async publish(metadata: Metadata | undefined, ready: boolean): Promise<number | null> {
    const { elector, options } = this.#parts;
    const { groupId, nodeId, instanceId, term } = this.mandate;
    const { clock, connectionTimeoutMs, ttlMs, priority } = options;
    const result = await within(clock, { limitMs: connectionTimeoutMs, signal: this.signal }, (signal) =>
      elector.campaign(
        { groupId, nodeId, instanceId, ttlMs, priority, metadata, ready, waitMs: 0 },
        { signal },
      ),
    );
    if (result.kind === "elected" && result.leader.term === term) return null;
    this.lose("not-leader");
    this.release();
    return result.kind === "elected" ? result.leader.term : null;
  }

  async validateOrLose(): Promise<boolean> {
    const valid = await this.validate();
    if (!valid) this.lose("token-invalid");
    return valid;
  }

  async #mayRenew(): Promise<boolean> {
    const { health } = this.#parts;
    // Right after the machine was suspended, timers on the monotonic clock are late.
    if (!this.#renewer.lease.isInside()) {
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
    const { clock } = this.#parts.options;
    this.#failedBeats = 0;
    this.#renewals += 1;
    this.#answeredAtMs = clock.monotonicMs() - seconds * 1000;
    this.#token = answer.mandate;
    if (this.#inDanger && !this.#over) this.#watch();
    this.#parts.reporter.heartbeat("renewed", seconds);
    this.#parts.reporter.answered();
    if (answer.transferTo !== undefined) this.lose("transferred");
  }

  #failed(error: unknown, seconds: number, repeated: boolean): void {
    const { options, reporter } = this.#parts;
    if (!repeated) this.#failedBeats += 1;
    reporter.heartbeat("failed", seconds);
    reporter.requestFailed("renew", error);
    if (isPermanent(error)) return this.lose("refused", error);
    const { maxConsecutiveFailures } = options;
    if (maxConsecutiveFailures !== null && this.#failedBeats >= maxConsecutiveFailures) {
      this.lose("heartbeat-failed", error);
    }
  }

  /**
   * Checks when half the ttl has passed, when `disconnectGracePeriodMs` has passed, and when the work has to end. A
   * renewal moves all three times; the next check takes that into account.
   */
  #watch(): void {
    const { ttlMs, stopMarginMs, clock, driftRatio } = this.#parts.options;
    this.#cancelWatchdog();
    const leftMs = this.#renewer.lease.leftMs();
    if (leftMs <= stopMarginMs) return this.lose("lapsed");
    const graceMs = this.#graceMs();
    if (graceMs <= 0) return this.lose("disconnected");
    const dangerMs = Math.max(stopMarginMs, ttlMs * (0.5 - driftRatio));
    const inDanger = leftMs <= dangerMs;
    const isNews = inDanger && !this.#inDanger;
    this.#inDanger = inDanger;
    const nextMs = Math.min(graceMs, leftMs - (inDanger ? stopMarginMs : dangerMs));
    this.#cancelWatchdog = clock.after(nextMs, () => this.#watch());
    if (isNews) this.#parts.reporter.danger(leftMs);
  }

  #graceMs(): number {
    const { disconnectGracePeriodMs, clock } = this.#parts.options;
    if (disconnectGracePeriodMs === null) return Number.POSITIVE_INFINITY;
    return this.#answeredAtMs + disconnectGracePeriodMs - clock.monotonicMs();
  }

  #scheduleValidation(): void {
    const { fencing, clock } = this.#parts.options;
    if (fencing.validationIntervalMs === 0 || this.#over) return;
    this.#cancelValidation = clock.after(fencing.validationIntervalMs, () => {
      // A missing answer shows nothing; the next check follows.
      void this.validateOrLose()
        .catch(() => {})
        .finally(() => this.#scheduleValidation());
    });
  }
}
