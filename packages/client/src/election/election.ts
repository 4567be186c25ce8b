/**
 * `Election` is one participant in the contest for one group: it campaigns, leads, stops in time, and campaigns again.
 *
 *     const election = new Election(elector, { groupId: "billing", metadata: { address } });
 *     election.onPromote(async ({ term }, signal) => { await work({ term, signal }); });
 *     await election.start(); // Later: await election.stop();
 *
 * What it promises:
 * - `isLeader()` checks the clock on every call. It is false on the first call after a pause that outlasted the lease (after a
 *   suspend of the machine, one millisecond later at most).
 * - The signal passed to `onPromote` aborts before another node can win, unless an operator forces a new leader.
 * - `onDemote` follows every `onPromote`, after its work has ended; the two never overlap. The term is resigned only after
 *   that, and is never led again.
 * - A logger, metric, tracer or listener that throws, hangs or calls the election cannot delay any of this.
 * What it does not promise: that work which ignores its signal stops, or that a process paused between a check and its
 * action does not act late. Send the term with every write, and let the resource refuse a lower term than it has seen.
 *
 * Time. A lease of `ttlMs` lasts longer at the elector than here: the leader counts from before it sent the request that
 * earned the lease, shortens it by `driftRatio`, and uses the stricter of the monotonic clock and the clock that advances
 * during suspend. Wall clocks need not agree. The signal aborts `stopMarginMs` before that deadline if no renewal succeeds.
 *
 * The life of an election:
 * 1. `start()` begins a run (`election-run.ts`) with a new instance id. It begins after the run before it has ended, so two
 *    runs never work, or hold a lease they may act by, at the same time. A late request of an old run names the old
 *    instance and cannot affect the new one. The highest term led or given up is kept over all runs; a term up to it is
 *    never led, only resigned.
 * 2. The run watches the group (`leader-watch.ts`), prepares (`preparation.ts`) and campaigns (`candidacy.ts`): usually by
 *    one campaign that waits in the elector's queue. Failures go through `retry.ts` and `breaker.ts`.
 * 3. A win becomes a `Leadership` (`leadership.ts`). `lease-renewer.ts` renews it every `heartbeatIntervalMs`; `hooks.ts`
 *    runs `onPromote`.
 * 4. The first reason to stop ends it: the deadline, an answer NOT_LEADER, a failed health check (`health.ts`), a transfer,
 *    `resign()` or `stop()`. The signal aborts. After an orderly end (`stop`, `resign`, a transfer, a failed `onPromote`)
 *    the lease is renewed while the work ends.
 * 5. After the work and `onDemote` the term is given back (`give-back.ts`), and step 2 follows. With `takeoverDelayMs`, a
 *    leader whose lease expired tries to return first (`comeback.ts`). `reporter.ts` reports every step.
 *
 * Tuning: set only `ttlMs` first; the other times follow from it. A crash blocks the group for `ttlMs`, and a leader that is
 * paused or cut off for a little less keeps the leadership. `election-options.ts` says of every option what a bad value
 * does. Read next: `leadership.ts`, `candidacy.ts`, docs/CLIENT.md.
 */
import { type Elector, InvalidRequestError, type Metadata } from "@tenure/core";
import { checkInteger, checkKeys, onAbort } from "@tenure/core/internal";
import { Broadcast } from "./broadcast.js";
import type { ElectionOptions, ElectionUpdate, StopOptions, WaitOptions } from "./election-options.js";
import { ElectionRun } from "./election-run.js";
import { ElectionStoppedError, NotLeadingError } from "./errors.js";
import { Health } from "./health.js";
import { endsByItsSignal, HookQueue } from "./hooks.js";
import { LeadScope, type LeadWork } from "./lead-scope.js";
import type { Leadership } from "./leadership.js";
import { parseMetadata } from "./metadata.js";
import { type ParsedElection, parseElection } from "./options.js";
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

export type { ElectionUpdate, StopOptions, WaitOptions } from "./election-options.js";

export type PromoteHook = (mandate: Mandate, signal: AbortSignal, lease: LeaseTime) => unknown;
export type DemoteHook = (reason: DemoteReason) => unknown;
export type LeaderChangeHook = (leader: KnownLeader, previousId: string | null) => unknown;
export type ElectionListener<K extends ElectionEvent["kind"]> = (
  event: Extract<ElectionEvent, { readonly kind: K }>,
) => unknown;

/** One participant in the contest for one group; the top of this file says what it promises. */
export class Election implements AsyncDisposable {
  readonly #elector: Elector;
  readonly #options: ParsedElection;
  readonly #events = new Broadcast<ElectionEvent>();
  readonly #reporter: Reporter;
  readonly #hooks: HookQueue<HookName>;
  /** A separate queue, so that an `onLeaderChange` that hangs does not block the other hooks. */
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

  /** Sends nothing yet. The election does not close the elector. */
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

  /** The instance id of the current or last run; `null` before the first start. */
  get instanceId(): string | null {
    return this.#run?.instanceId ?? null;
  }

  /**
   * Called at each promotion. Its promise is awaited before the lease is given back; until then the lease is renewed,
   * unless it was lost. If it rejects before its signal aborts, the leadership is given up (see `onPromoteFailure`).
   */
  onPromote(hook: PromoteHook): this {
    this.#checkHook("onPromote", this.#promoteHook, "promoted");
    this.#promoteHook = hook;
    return this;
  }

  /** Called once after each `onPromote`, when its promise has settled. */
  onDemote(hook: DemoteHook): this {
    this.#checkHook("onDemote", this.#demoteHook, "demoted");
    this.#demoteHook = hook;
    return this;
  }

  /** Called when another node becomes leader, or none leads. Its calls never overlap, and they wait for no other hook. */
  onLeaderChange(hook: LeaderChangeHook): this {
    this.#checkHook("onLeaderChange", this.#leaderChangeHook, "leader-changed");
    this.#leaderChangeHook = hook;
    return this;
  }

  /**
   * Adds a listener for one kind of event, at any time, and returns the function that removes it. Listeners are called in
   * order right after the event and are not awaited. A listener that throws is reported once as `hook-failed`.
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
   * Campaigns until stopped. Resolves when the first campaign was answered or has failed, or when the health check failed;
   * the election then keeps trying. Rejects if it can never succeed. While it runs, another call changes nothing; after it
   * has ended, a call begins a new run under a new instance id.
   */
  start(): Promise<void> {
    const hook = this.#promoteHook;
    return this.#begin((_run, { mandate, signal }, lease) => hook?.(mandate, signal, lease)).started;
  }

  /** Stops the election; see `StopOptions`. May be called again; the options of the first call count. */
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

  /** If this process leads, gives the leadership up after the work has ended; then campaigns again, behind the queue. */
  resign({ standAgainAfterMs = 0 }: { readonly standAgainAfterMs?: number } = {}): void {
    this.#run?.resign(checkInteger(standAgainAfterMs, "standAgainAfterMs", 0, 3_600_000));
  }

  /**
   * Changes the metadata. A leader sends it to the elector at once, in the same term; the call resolves with the answer and
   * rejects without one, although the change may have been made. Later campaigns use the new metadata in any case.
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

  /** The signal of the current leadership, for calls outside `onPromote`; `null` while not leading. */
  get signal(): AbortSignal | null {
    return this.#leading()?.signal ?? null;
  }

  /** The leader as far as this process knows; `null` if none. */
  leaderId(): string | null {
    return this.#run?.watch.known?.nodeId ?? null;
  }

  /** While leading: the latest signed proof of the lease, where the service signs them; otherwise `null`. */
  token(): string | null {
    return this.#leading()?.token ?? null;
  }

  /** While leading: the term to send with every write; otherwise `null`. */
  term(): number | null {
    return this.#leading()?.mandate.term ?? null;
  }

  /** While leading: the term and identity that `fencedFetch` and the guards need; otherwise `null`. */
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

  /** Asks the elector who leads and takes the answer in like an event; `null` before the start. Rejects without an answer. */
  async refresh({ signal }: WaitOptions = {}): Promise<string | null> {
    return (await this.#run?.watch.ask(signal))?.leader?.nodeId ?? null;
  }

  /** Asks the store whether this process leads. Rejects if the store does not answer; then neither is known. */
  async validateToken(): Promise<boolean> {
    return (await this.#run?.leadership?.validate()) ?? false;
  }

  /** Like `validateToken`, and steps down if the answer is no. */
  async validateTokenOrDemote(): Promise<boolean> {
    return (await this.#run?.leadership?.validateOrLose()) ?? false;
  }

  /** Rejects with `NotLeadingError` unless this process leads; with `fencing.validateOnCriticalOps` it asks the store too. */
  async assertLeader(): Promise<Mandate> {
    const asks = this.#options.fencing.validateOnCriticalOps;
    const mandate = !asks || (await this.validateTokenOrDemote()) ? this.mandate() : null;
    if (mandate !== null) return mandate;
    const { groupId, nodeId } = this.#options;
    throw new NotLeadingError(`${nodeId} does not lead group ${groupId}; do not act`);
  }

  /**
   * Leading as a scope: starts the election, runs the work while leading, gives the lease back when the work has ended, and
   * resolves with its result. If the leadership is lost meanwhile, the work runs again at the next one. An error that the
   * work throws while leading ends the election and is thrown here. If the election is stopped first, a value that the work
   * still returns is the result; otherwise this rejects with `ElectionStoppedError`, or with the reason of `signal`.
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

  /** Resolves when this process leads; rejects when the election fails, or with `ElectionStoppedError` when it is stopped. */
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

  /** Resolves with the reason when the current leadership and its work have ended; at once with `null` if there is none. */
  async untilDemoted({ signal }: WaitOptions = {}): Promise<DemoteReason | null> {
    signal?.throwIfAborted();
    if ((this.#run?.leadership ?? null) === null) return null;
    for await (const event of this.#events.read(signal)) if (event.kind === "demoted") return event.reason;
    return null;
  }

  /** All events from now on, until the election ends. */
  changes({ signal }: WaitOptions = {}): AsyncIterableIterator<ElectionEvent> {
    return this.#events.read(signal);
  }

  #leading(): Leadership | null {
    const leadership = this.#run?.leadership ?? null;
    return leadership?.isLeading() === true ? leadership : null;
  }

  /** The current run, or a new one. */
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
        `has a hook already, and only one is allowed because it is awaited; ${instead}`,
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
