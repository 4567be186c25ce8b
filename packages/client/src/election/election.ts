/**
 * One participant's life in the contest for one group: it stands for election, leads, stops in time, and stands again.
 *
 * Promised: `isLeader()` looks at the clock each time, so it is false on the first call after any pause (after a suspend of
 * the machine, a millisecond later at most); the signal given to `onPromote` aborts before anybody else can win; `onDemote`
 * follows every `onPromote`, when its work has ended; a term is resigned only after that, and never led again; hooks never
 * overlap. Not promised: that work which ignores its signal stops, or that a process stopped between a check and its act
 * does not act late. For both there is the term: send it along, and let the resource refuse a lower one than it has seen.
 */
import { checkInteger, type Elector, InvalidRequestError } from "@tenure/core";
import { breakerOf } from "./breaker.js";
import { Broadcast } from "./broadcast.js";
import { Candidacy, type Won } from "./candidacy.js";
import { Comeback } from "./comeback.js";
import { ENDED } from "./ended.js";
import { NotLeadingError } from "./errors.js";
import { giveBack } from "./give-back.js";
import { Health } from "./health.js";
import { endsByItsSignal, HookQueue } from "./hooks.js";
import { LeaderWatch } from "./leader-watch.js";
import { Leadership } from "./leadership.js";
import { type ElectionOptions, type ParsedElection, parseElection } from "./options.js";
import { allowPriorityTakeover } from "./priority-takeover.js";
import { Reporter } from "./reporter.js";
import { stopWithin } from "./stop-within.js";
import type {
  DemoteReason,
  ElectionEvent,
  ElectionState,
  ElectionStatus,
  KnownLeader,
  LeaseTime,
  Mandate,
} from "./state.js";

export type PromoteHook = (mandate: Mandate, signal: AbortSignal, lease: LeaseTime) => unknown;
export type DemoteHook = (reason: DemoteReason) => unknown;
export type LeaderChangeHook = (leader: KnownLeader, previousId: string | null) => unknown;

export interface StopOptions {
  /** Give the lease back when the work has ended; as `deleteOnStop` says by default. */
  readonly resign?: boolean;
  /** Wait for the work and `onDemote` to end (default). */
  readonly waitForDemote?: boolean;
  /** Reject with `StopTimeoutError` after so long; by default wait for as long as it takes. */
  readonly timeoutMs?: number;
}

/** What `lead` gives to its work. */
export interface Leading extends Mandate {
  readonly signal: AbortSignal;
}

export class Election implements AsyncDisposable {
  readonly instanceId: string;
  readonly #elector: Elector;
  readonly #options: ParsedElection;
  readonly #events = new Broadcast<ElectionEvent>();
  readonly #reporter: Reporter;
  readonly #hooks: HookQueue;
  readonly #health: Health;
  readonly #watch: LeaderWatch;
  readonly #comeback: Comeback;
  readonly #stopping = new AbortController();
  #promoteHook: PromoteHook | null = null;
  #demoteHook: DemoteHook | null = null;
  #leaderChangeHook: LeaderChangeHook | null = null;
  #state: ElectionState = { kind: "idle" };
  #leadership: Leadership | null = null;
  #running: Promise<void> | null = null;
  #started: Promise<void> | null = null;
  #resignOnStop: boolean;
  /** No term up to this one is led by this process any more. */
  #endedTerm = 0;
  #standAgainAtMs = Number.NEGATIVE_INFINITY;

  /** Asks nothing yet. The elector stays its owner's to close. */
  constructor(elector: Elector, options: ElectionOptions) {
    this.#elector = elector;
    this.#options = parseElection(options);
    this.#resignOnStop = this.#options.deleteOnStop;
    this.instanceId = this.#options.newId();
    const { clock, random, retry, groupId, healthChecker, healthTimeoutMs, maxHealthFailures } =
      this.#options;
    this.#reporter = new Reporter(this.#options, this.#events);
    this.#hooks = new HookQueue((hook, error) => this.#reporter.hookFailed(hook, error));
    this.#health = new Health({
      checker: healthChecker,
      timeoutMs: healthTimeoutMs,
      maxFailures: maxHealthFailures,
      clock,
      changed: (healthy) => this.#reporter.health(healthy),
    });
    this.#watch = new LeaderWatch({
      elector,
      groupId,
      clock,
      random,
      retry,
      changed: (leader, previousId) => this.#leaderChanged(leader, previousId),
      contact: (error) => {
        // A leader's renewals tell more about its connection than its watch does.
        if (this.#leadership === null) this.#reporter.contact(error);
      },
    });
    this.#comeback = new Comeback({ elector, options: this.#options, watch: this.#watch });
  }

  /**
   * Called with each leadership. What it returns is waited for before the lease is given back; until then the lease is kept,
   * unless it was lost.
   */
  onPromote(hook: PromoteHook): this {
    this.#checkHook("onPromote", this.#promoteHook);
    this.#promoteHook = hook;
    return this;
  }

  /** Called once after each `onPromote`, when that has ended. */
  onDemote(hook: DemoteHook): this {
    this.#checkHook("onDemote", this.#demoteHook);
    this.#demoteHook = hook;
    return this;
  }

  /** Called when another node, or none, leads. While `onPromote` runs it waits; `changes()` does not. */
  onLeaderChange(hook: LeaderChangeHook): this {
    this.#checkHook("onLeaderChange", this.#leaderChangeHook);
    this.#leaderChangeHook = hook;
    return this;
  }

  /**
   * Stands for election until stopped. Resolves when the first campaign was answered, or could not be; then it goes on
   * trying. Rejects if it can never succeed.
   */
  start(): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.reject(this.#stopping.signal.reason as Error);
    this.#started ??= new Promise((resolve, reject) => {
      this.#move({ kind: "following" });
      this.#running = this.#run(resolve).catch((cause: unknown) => {
        const error = cause instanceof Error ? cause : new Error("the election has failed", { cause });
        this.#fail(error);
        reject(error);
      });
    });
    return this.#started;
  }

  /** Idempotent. The first call's options count. */
  stop(options: StopOptions = {}): Promise<void> {
    const { waitForDemote = true, timeoutMs, resign } = options;
    if (!this.#stopping.signal.aborted) {
      this.#resignOnStop = resign ?? this.#resignOnStop;
      this.#stopping.abort(new NotLeadingError("the election was stopped; make another"));
      this.#leadership?.lose("stopped");
    }
    const ended = (this.#running ?? Promise.resolve()).then(() => this.#end());
    if (!waitForDemote) return Promise.resolve();
    if (timeoutMs === undefined) return ended;
    return stopWithin(ended, this.#options, timeoutMs, () => this.#leadership?.release());
  }

  /** Gives the leadership up, if this process has it, when its work has ended; then stands again, behind those who wait. */
  resign({ standAgainAfterMs = 0 }: { readonly standAgainAfterMs?: number } = {}): void {
    const restMs = checkInteger(standAgainAfterMs, "standAgainAfterMs", 0, 3_600_000);
    this.#standAgainAtMs = this.#options.clock.monotonicMs() + restMs;
    this.#leadership?.lose("resigned");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Whether this process may act as leader right now. */
  isLeader(): boolean {
    return this.#leadership !== null && this.#leadership.isLeading();
  }

  /** The node that leads as far as is known here; `null` if none. */
  leaderId(): string | null {
    return this.#watch.known?.nodeId ?? null;
  }

  /** While leading: the signed proof of the lease, or the term as text where the service signs none. */
  token(): string | null {
    if (!this.isLeader()) return null;
    const { token, mandate } = this.#leadership as Leadership;
    return token ?? String(mandate.term);
  }

  /** While leading: the term to send along with every act. */
  term(): number | null {
    return this.isLeader() ? (this.#leadership as Leadership).mandate.term : null;
  }

  /** While leading: what `fencedFetch` and the guards need. */
  mandate(): Mandate | null {
    if (!this.isLeader()) return null;
    const { mandate, token } = this.#leadership as Leadership;
    return token === undefined ? mandate : { ...mandate, token };
  }

  status(): ElectionStatus {
    const isLeader = this.isLeader();
    return {
      state: this.#state,
      isLeader,
      leaderId: this.leaderId(),
      term: this.#watch.known?.term ?? 0,
      leftMs: isLeader ? (this.#leadership as Leadership).leftMs() : 0,
      connection: this.#reporter.connection,
      consecutiveFailures: this.#leadership?.failedBeats ?? 0,
      correlationId: this.#reporter.correlationId,
    };
  }

  /** Asks the store whether this process leads. Rejects if it does not answer, which tells nothing. */
  async validateToken(): Promise<boolean> {
    return (await this.#leadership?.validate()) ?? false;
  }

  /** As `validateToken`, and steps down if the answer is no. */
  async validateTokenOrDemote(): Promise<boolean> {
    return (await this.#leadership?.validateOrLose()) ?? false;
  }

  /** Rejects with `NotLeadingError` unless this process leads; with `fencing.validateOnCriticalOps` the store is asked too. */
  async assertLeader(): Promise<Mandate> {
    const asks = this.#options.fencing.validateOnCriticalOps;
    const mandate = !asks || (await this.validateTokenOrDemote()) ? this.mandate() : null;
    if (mandate !== null) return mandate;
    const { groupId, nodeId } = this.#options;
    throw new NotLeadingError(`${nodeId} does not lead group ${groupId}; do not act`);
  }

  /**
   * Leading as a scope: runs the work while leading, gives the lease back when it has ended, and resolves with its result.
   * If the leadership is lost in the middle, the work runs again at the next one. What the work throws while it leads ends
   * the election.
   */
  async lead<T>(work: (leading: Leading) => Promise<T>): Promise<T> {
    let outcome: { readonly settle: () => T } | null = null;
    this.onPromote(async (mandate, signal) => {
      // In a function of its own: work may throw at once.
      const settle = await (async () => work({ ...mandate, signal }))().then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      if (!this.isLeader()) return void settle();
      outcome = { settle };
      this.#leadership?.lose("finished");
      this.#stopping.abort(new NotLeadingError("its work has ended"));
    });
    await this.start();
    await this.#running;
    this.#end();
    const settled = outcome as { readonly settle: () => T } | null;
    if (settled !== null) return settled.settle();
    if (this.#state.kind === "failed") throw this.#state.error;
    throw new NotLeadingError("the election was stopped before its work had ended");
  }

  /** Everything that happens from now on, until the election ends. */
  changes(options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<ElectionEvent> {
    return this.#events.read(options.signal);
  }

  async #run(answered: () => void): Promise<void> {
    const watching = new AbortController();
    const watched = this.#watch.run(watching.signal);
    try {
      const candidacy = this.#candidacy();
      for (;;) {
        const won = await candidacy.seek(this.#stopping.signal, answered);
        await this.#lead(won, answered);
        this.#move({ kind: "following" });
      }
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error;
      answered();
      const { heldTerm } = this.#comeback;
      if (heldTerm !== null && this.#resignOnStop) await this.#resign(heldTerm);
    } finally {
      this.#leadership?.lose("stopped");
      this.#leadership?.release();
      watching.abort(ENDED);
      await watched;
    }
  }

  #candidacy(): Candidacy {
    return new Candidacy({
      elector: this.#elector,
      options: this.#options,
      instanceId: this.instanceId,
      breaker: this.#options.breaker ?? breakerOf(this.#elector, this.#options.clock),
      health: this.#health,
      watch: this.#watch,
      comeback: this.#comeback,
      reporter: this.#reporter,
      standing: (healthy) => this.#move({ kind: healthy ? "following" : "unhealthy" }),
      standAgainAtMs: () => this.#standAgainAtMs,
      prepare: (signal) => this.#prepare(signal),
      giveBack: (term) => this.#resign(term),
    });
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const { priorityTakeover, groupId } = this.#options;
    if (priorityTakeover) await allowPriorityTakeover(this.#elector, groupId, signal);
  }

  async #lead({ result, answer }: Won, answered: () => void): Promise<void> {
    const { groupId, nodeId } = this.#options;
    const { term } = result.leader;
    const token = result.mandate === undefined ? {} : { token: result.mandate };
    const mandate: Mandate = { groupId, nodeId, instanceId: this.instanceId, term, ...token };
    const leadership = new Leadership({
      elector: this.#elector,
      options: this.#options,
      mandate,
      won: answer,
      health: this.#health,
      reporter: this.#reporter,
    });
    // A term is led once; and of a lease whose answer came too late nothing is left.
    if (this.#stopping.signal.aborted || term <= this.#endedTerm || !leadership.begin()) {
      await this.#resign(term);
      return;
    }
    this.#endedTerm = term;
    this.#leadership = leadership;
    this.#watch.note({ nodeId, term, reason: "none" }, null);
    this.#move({ kind: "leading", mandate });
    this.#reporter.promoted(mandate);
    const work = this.#hooks.run("onPromote", () => this.#work(leadership));
    answered();
    if (result.transferTo !== undefined) leadership.lose("transferred");
    const reason = await leadership.lost;
    this.#move({ kind: "stepping-down", mandate, reason });
    this.#reporter.demoting(reason);
    await work;
    await this.#hooks.run("onDemote", () => this.#demoteHook?.(reason));
    leadership.release();
    this.#reporter.demoted(mandate, reason);
    this.#leadership = null;
    if (reason === "lapsed" && this.#options.takeoverDelayMs > 0) this.#comeback.begin(term);
    else if (reason !== "stopped" || this.#resignOnStop) await this.#resign(term);
  }

  async #work(leadership: Leadership): Promise<void> {
    try {
      await this.#promoteHook?.(leadership.mandate, leadership.signal, leadership);
    } catch (error) {
      if (!endsByItsSignal(error, leadership.signal)) throw error;
    }
  }

  async #resign(term: number): Promise<void> {
    this.#endedTerm = Math.max(this.#endedTerm, term);
    const { instanceId } = this;
    const resigned = await giveBack(this.#elector, this.#options, { instanceId, term }, (error) =>
      this.#reporter.contact(error),
    );
    if (resigned) this.#watch.note({ nodeId: null, term, reason: "resigned" }, this.#options.nodeId);
  }

  #leaderChanged(leader: KnownLeader, previousId: string | null): void {
    this.#reporter.leaderChanged(leader, previousId);
    const hook = this.#leaderChangeHook;
    if (hook !== null) void this.#hooks.run("onLeaderChange", () => hook(leader, previousId));
  }

  #move(next: ElectionState): void {
    if (this.#stopping.signal.aborted && next.kind === "following") return;
    if (this.#state.kind === next.kind) return;
    this.#reporter.moved(this.#state, next);
    this.#state = next;
  }

  #fail(error: Error): void {
    this.#move({ kind: "failed", error });
    this.#reporter.failed(error);
  }

  #end(): void {
    if (this.#state.kind === "stopped" || this.#state.kind === "failed") return;
    this.#move({ kind: "stopped" });
    this.#reporter.stopped();
  }

  #checkHook(name: string, present: unknown): void {
    if (present !== null)
      throw new InvalidRequestError(name, "has a hook already; call both from one function");
    if (this.#started !== null) throw new InvalidRequestError(name, "must be called before start");
  }
}
