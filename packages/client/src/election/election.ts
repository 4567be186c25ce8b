import { type Elector, InvalidRequestError, type Metadata } from "@tenure/core";
import { checkInteger, checkKeys, onAbort } from "@tenure/core/internal";
import { Broadcast } from "./broadcast.js";
import { ElectionRun } from "./election-run.js";
import { ElectionStoppedError, NotLeadingError } from "./errors.js";
import { Health } from "./health.js";
import { endsByItsSignal, HookQueue } from "./hooks.js";
import { LeadScope, type LeadWork } from "./lead-scope.js";
import type { Leadership } from "./leadership.js";
import { parseMetadata } from "./metadata.js";
import { type ElectionOptions, type ParsedElection, parseElection } from "./options.js";
import { Reporter } from "./reporter.js";
import { stopWithin } from "./stop-within.js";
import type {
  DemoteReason,
  ElectionEvent,
  ElectionState,
  ElectionStatus,
  HookName,
  KnownLeader,
  LeaseTime,
  Mandate,
} from "./state.js";
import { UserCode } from "./user-code.js";

export type PromoteHook = (mandate: Mandate, signal: AbortSignal, lease: LeaseTime) => unknown;
export type DemoteHook = (reason: DemoteReason) => unknown;
export type LeaderChangeHook = (leader: KnownLeader, previousId: string | null) => unknown;
export type ElectionListener<K extends ElectionEvent["kind"]> = (
  event: Extract<ElectionEvent, { readonly kind: K }>,
) => unknown;

/** How `stop` ends an election. */
export interface StopOptions {
  /** Give the lease back when the work has ended; as `deleteOnStop` says by default. */
  readonly resign?: boolean;
  /** Wait for the work and `onDemote` to end (default). */
  readonly waitForDemote?: boolean;
  /** Reject with `StopTimeoutError` after this time; by default wait for as long as it takes. */
  readonly timeoutMs?: number;
}

export interface WaitOptions {
  /** Ends the wait: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What can be changed without a restart. */
export interface ElectionUpdate {
  /** Replaces the metadata shown with the leader. JSON of at most 4 KiB. */
  readonly metadata: Metadata | undefined;
}

/**
 * One participant in the contest for one group: it stands for election, leads, stops in time, and stands again.
 * Promised: `isLeader()` looks at the clock each time, so it is false on the first call after any pause (after a suspend of
 * the machine, a millisecond later at most); the signal given to `onPromote` aborts before anybody else can win; `onDemote`
 * follows every `onPromote`, when its work has ended; a term is resigned only after that, and never led again; `onPromote` and
 * `onDemote` never overlap. No logger, metric, tracer or listener that throws, hangs or calls the election can delay any of it.
 * Not promised: that work which ignores its signal stops, or that a process stopped between a check and its act does not act
 * late. For both there is the term: send it along, and let the resource refuse a lower one than it has seen.
 * An election can be started again after it has ended. These invariants hold over all its runs:
 * - A run begins only after the run before it has ended: its work and `onDemote` are over, and its term was resigned, or is
 *   left to run out. So no two runs ever work, or hold a lease that they may act by, at the same time.
 * - Each run draws an instance id of its own. The elector confirms a term only to the instance that won it, so a new run never
 *   gets an old run's lease; and a late request of an old run (renew, resign) names the old instance and cannot touch a new one's.
 * - The highest term that was led or given up is kept over all runs. A term up to it is never led, only resigned.
 */
export class Election implements AsyncDisposable {
  readonly #elector: Elector;
  readonly #options: ParsedElection;
  readonly #events = new Broadcast<ElectionEvent>();
  readonly #reporter: Reporter;
  readonly #hooks: HookQueue<HookName>;
  /** Apart: one that hangs must not keep the others from being called. */
  readonly #leaderHooks: HookQueue<HookName>;
  readonly #listeners: UserCode<object>;
  readonly #health: Health;
  readonly #ended = { term: 0 };
  #promoteHook: PromoteHook | null = null;
  #demoteHook: DemoteHook | null = null;
  #leaderChangeHook: LeaderChangeHook | null = null;
  #metadata: Metadata | undefined;
  #state: ElectionState = { kind: "idle" };
  #run: ElectionRun | null = null;

  /** Asks nothing yet. The elector stays its owner's to close. */
  constructor(elector: Elector, options: ElectionOptions) {
    this.#elector = elector;
    this.#options = parseElection(options);
    const { clock, healthChecker, healthTimeoutMs, maxHealthFailures, metadata } = this.#options;
    this.#metadata = metadata;
    this.#reporter = new Reporter(this.#options, this.#events);
    const hookFailed = (hook: HookName, error: unknown) => this.#reporter.hookFailed(hook, error);
    this.#hooks = new HookQueue(hookFailed);
    this.#leaderHooks = new HookQueue(hookFailed);
    this.#listeners = new UserCode((_listener, error) => hookFailed("listener", error));
    this.#health = new Health({
      checker: healthChecker,
      timeoutMs: healthTimeoutMs,
      maxFailures: maxHealthFailures,
      clock,
      changed: (healthy, error) => this.#reporter.health(healthy, error),
    });
  }

  /** Names the present or last run of this election among all; `null` before the first start. */
  get instanceId(): string | null {
    return this.#run?.instanceId ?? null;
  }

  /**
   * Called with each leadership. What it returns is awaited before the lease is given back; until then the lease is kept,
   * unless it was lost. If it rejects before its signal aborts, the leadership is given up (see `onPromoteFailure`).
   */
  onPromote(hook: PromoteHook): this {
    this.#checkHook("onPromote", this.#promoteHook, "promoted");
    this.#promoteHook = hook;
    return this;
  }

  /** Called once after each `onPromote`, when that has ended. */
  onDemote(hook: DemoteHook): this {
    this.#checkHook("onDemote", this.#demoteHook, "demoted");
    this.#demoteHook = hook;
    return this;
  }

  /** Called when another node, or none, leads. Its calls do not overlap each other, and wait for no other hook. */
  onLeaderChange(hook: LeaderChangeHook): this {
    this.#checkHook("onLeaderChange", this.#leaderChangeHook, "leader-changed");
    this.#leaderChangeHook = hook;
    return this;
  }

  /**
   * Adds a listener for one kind of event, at any time, and returns the function that removes it. Listeners are not awaited and
   * are called in order, right after the event; one that throws is reported as `hook-failed` once.
   */
  on<K extends ElectionEvent["kind"]>(kind: K, listener: ElectionListener<K>): () => void {
    if (typeof listener !== "function") throw new InvalidRequestError("listener", "must be a function");
    let isActive = true;
    const leave = this.#events.listen((event) => {
      if (event.kind !== kind) return;
      const own = event as Extract<ElectionEvent, { readonly kind: K }>;
      this.#listeners.call(listener, () => (isActive ? listener(own) : undefined));
    });
    return () => {
      isActive = false;
      leave();
    };
  }

  /**
   * Stands for election until stopped. Resolves when the first campaign was answered, or could not be, or the health check says
   * no; then it goes on trying. Rejects if it can never succeed. Idempotent while it runs. After it has ended it begins again,
   * under a new instance id.
   */
  start(): Promise<void> {
    const hook = this.#promoteHook;
    return this.#begin((_run, { mandate, signal }, lease) => hook?.(mandate, signal, lease)).started;
  }

  /** Idempotent. The first call's options count. */
  stop({ waitForDemote = true, timeoutMs, resign }: StopOptions = {}): Promise<void> {
    const run = this.#run;
    if (run === null) {
      if (this.#state.kind === "idle") {
        this.#move({ kind: "stopped" });
        this.#reporter.stopped();
      }
      return Promise.resolve();
    }
    run.stop(resign);
    if (!waitForDemote) return Promise.resolve();
    if (timeoutMs === undefined) return run.ended;
    const { clock, groupId } = this.#options;
    const late = () => run.leadership?.release();
    return stopWithin(run.ended, { clock, groupId, timeoutMs, state: () => this.#state, late });
  }

  /** Gives the leadership up, if this process has it, when its work has ended; then stands again, behind those who wait. */
  resign({ standAgainAfterMs = 0 }: { readonly standAgainAfterMs?: number } = {}): void {
    this.#run?.resign(checkInteger(standAgainAfterMs, "standAgainAfterMs", 0, 3_600_000));
  }

  /**
   * Changes what this process campaigns with. A leader tells the elector at once, in the same term, and the call resolves when
   * the elector has answered; it rejects if there was no answer, though the change may have been made. Later campaigns use it
   * in any case.
   */
  async update(change: ElectionUpdate): Promise<void> {
    checkKeys(change, "", ["metadata"]);
    this.#metadata = parseMetadata(change.metadata, "metadata");
    await this.#run?.update();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Whether this process may act as leader right now. */
  isLeader(): boolean {
    return this.#leading() !== null;
  }

  /** The signal of the present leadership, for calls made outside of `onPromote`; `null` while not leading. */
  get signal(): AbortSignal | null {
    return this.#leading()?.signal ?? null;
  }

  /** The node that leads as far as is known here; `null` if none. */
  leaderId(): string | null {
    return this.#run?.watch.known?.nodeId ?? null;
  }

  /** While leading: the latest signed proof of the lease, where the service signs them; otherwise `null`. */
  token(): string | null {
    return this.#leading()?.token ?? null;
  }

  /** While leading: the term to send along with every act. */
  term(): number | null {
    return this.#leading()?.mandate.term ?? null;
  }

  /** While leading: what `fencedFetch` and the guards need. */
  mandate(): Mandate | null {
    const leadership = this.#leading();
    if (leadership === null) return null;
    const { mandate, token } = leadership;
    return token === undefined ? mandate : { ...mandate, token };
  }

  status(): ElectionStatus {
    const leading = this.#leading();
    return {
      state: this.#state,
      isLeader: leading !== null,
      ready: this.#run?.preparation.isReady ?? this.#options.prepare === null,
      leaderId: this.leaderId(),
      term: this.#run?.watch.known?.term ?? 0,
      leftMs: leading?.leftMs() ?? 0,
      connection: this.#reporter.connection,
      consecutiveFailures: this.#run?.leadership?.failedBeats ?? 0,
      correlationId: this.#reporter.correlationId,
    };
  }

  /** Asks who leads, and acts on the answer as if the watch had told it; `null` before the start. Rejects without an answer. */
  async refresh({ signal }: WaitOptions = {}): Promise<string | null> {
    return (await this.#run?.watch.ask(signal))?.leader?.nodeId ?? null;
  }

  /** Asks the store whether this process leads. Rejects if it does not answer, which says nothing. */
  async validateToken(): Promise<boolean> {
    return (await this.#run?.leadership?.validate()) ?? false;
  }

  /** As `validateToken`, and steps down if the answer is no. */
  async validateTokenOrDemote(): Promise<boolean> {
    return (await this.#run?.leadership?.validateOrLose()) ?? false;
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
   * Leading as a scope: starts the election, runs the work while leading, gives the lease back when it has ended, and resolves
   * with its result. If the leadership is lost in the middle, the work runs again at the next one. What the work throws while
   * it leads ends the election and is thrown here. If the election is stopped first, a value that the work still returns is
   * the result; otherwise this rejects with `ElectionStoppedError`. `signal` stops the election; then this rejects with its
   * reason instead.
   */
  async lead<T>(work: LeadWork<T>, { signal }: WaitOptions = {}): Promise<T> {
    this.#checkLead();
    signal?.throwIfAborted();
    const scope = new LeadScope(work);
    const run = this.#begin((own, { mandate, signal: losing }) => scope.run(own, mandate, losing));
    const stopListening = onAbort(signal, () => run.stop(undefined));
    await run.ended;
    stopListening();
    if (scope.outcome !== null) return scope.outcome.settle();
    if (this.#state.kind === "failed") throw this.#state.error;
    signal?.throwIfAborted();
    const message = `the election of group ${this.#options.groupId} was stopped before the work had ended`;
    throw new ElectionStoppedError(message, { cause: scope.interrupted });
  }

  /** Resolves when this process leads; rejects when the election has failed, or with `ElectionStoppedError` when it was stopped. */
  async untilLeader({ signal }: WaitOptions = {}): Promise<Mandate> {
    signal?.throwIfAborted();
    const present = this.mandate();
    if (present !== null) return present;
    if (this.#state.kind === "failed") throw this.#state.error;
    for await (const event of this.#events.read(signal)) {
      if (event.kind === "failed") throw event.error;
      const mandate = this.mandate();
      if (mandate !== null) return mandate;
    }
    const { groupId } = this.#options;
    throw new ElectionStoppedError(`the election of group ${groupId} was stopped before it was won`);
  }

  /** Resolves when the present leadership is over and its work has ended, with the reason; at once with `null` if there is none. */
  async untilDemoted({ signal }: WaitOptions = {}): Promise<DemoteReason | null> {
    signal?.throwIfAborted();
    if ((this.#run?.leadership ?? null) === null) return null;
    for await (const event of this.#events.read(signal)) if (event.kind === "demoted") return event.reason;
    return null;
  }

  /** Everything that happens from now on, until the election ends. */
  changes({ signal }: WaitOptions = {}): AsyncIterableIterator<ElectionEvent> {
    return this.#events.read(signal);
  }

  #leading(): Leadership | null {
    const leadership = this.#run?.leadership ?? null;
    return leadership?.isLeading() === true ? leadership : null;
  }

  /** The run that is under way, or a new one. */
  #begin(work: (run: ElectionRun, leadership: Leadership, lease: LeaseTime) => unknown): ElectionRun {
    if (this.#run?.isOpen === true) return this.#run;
    const run: ElectionRun = new ElectionRun({
      elector: this.#elector,
      options: this.#options,
      reporter: this.#reporter,
      health: this.#health,
      after: this.#run?.ended ?? Promise.resolve(),
      ended: this.#ended,
      metadata: () => this.#metadata,
      moved: (state) => this.#move(state),
      promote: (leadership) =>
        this.#hooks.run("onPromote", () => this.#work(leadership, () => work(run, leadership, leadership))),
      demote: (reason) => this.#hooks.run("onDemote", () => this.#demoteHook?.(reason)),
      leaderChanged: (leader, previousId) => this.#leaderChanged(leader, previousId),
    });
    this.#run = run;
    return run;
  }

  async #work(leadership: Leadership, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (endsByItsSignal(error, leadership.signal)) return;
      if (this.#options.onPromoteFailure === "resign") leadership.lose("promote-failed");
      throw error;
    }
  }

  #leaderChanged(leader: KnownLeader, previousId: string | null): void {
    this.#reporter.leaderChanged(leader, previousId);
    const hook = this.#leaderChangeHook;
    if (hook !== null) void this.#leaderHooks.run("onLeaderChange", () => hook(leader, previousId));
  }

  #move(next: ElectionState): void {
    const before = this.#state;
    if (before.kind === next.kind) return;
    this.#state = next;
    this.#reporter.moved(before, next);
  }

  #checkHook(name: string, present: unknown, kind: ElectionEvent["kind"]): void {
    const instead = `add a listener with on("${kind}", …) instead`;
    if (present !== null)
      throw new InvalidRequestError(
        name,
        `has a hook already, and there is one since it is awaited; ${instead}`,
      );
    if (this.#run?.isOpen === true)
      throw new InvalidRequestError(name, `must be called before start(); ${instead}`);
  }

  #checkLead(): void {
    if (this.#promoteHook !== null)
      throw new InvalidRequestError(
        "lead",
        "runs its own work, and onPromote has a hook already; use one of them",
      );
    if (this.#run?.isOpen === true)
      throw new InvalidRequestError("lead", "starts the election, and it runs already; call stop() first");
  }
}
