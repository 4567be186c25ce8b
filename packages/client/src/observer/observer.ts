/**
 * Who leads a group, for processes that do not take part.
 *
 * Promised: changes arrive by the group's watch as they happen, older news never replaces newer, and a leader's
 * metadata is shown with its own term only. Not promised: that the leader shown still leads. `staleMs()` says how old
 * the state may be; a program that uses it must expect a leader that was replaced.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type CallOptions,
  ClosedError,
  type Elector,
  type ElectorAdmin,
  InvalidRequestError,
  type Leader,
  type Leadership,
  type LeadershipEvent,
} from "@tenure/core";
import { within } from "@tenure/core/internal";
import { Broadcast } from "../election/broadcast.js";
import type { LeaderChangeHook } from "../election/election.js";
import { HookQueue } from "../election/hooks.js";
import { LeaderWatch } from "../election/leader-watch.js";
import { Backoff, isPermanent } from "../election/retry.js";
import type { ConnectionStatus, KnownLeader } from "../election/state.js";
import type { ObservedLeader, ObserverEvent, ObserverStatus } from "./observed.js";
import { type ObserverOptions, type ParsedObserver, parseObserver } from "./options.js";

/** Assumed options of the leader, which an observer does not know. */
const USUAL = { ttlMs: 10_000, heartbeatIntervalMs: 2000, connectionTimeoutMs: 1500 } as const;

/** Watches one group without taking part in its election. */
export class Observer implements AsyncDisposable {
  readonly #elector: Elector;
  readonly #options: ParsedObserver;
  readonly #watch: LeaderWatch;
  readonly #events = new Broadcast<ObserverEvent>();
  readonly #hooks: HookQueue<string>;
  readonly #stopping = new AbortController();
  #hook: LeaderChangeHook | null = null;
  #leader: ObservedLeader | null = null;
  /** Whether the leader's metadata is known, even if it is empty. */
  #hasDetails = false;
  #connection: ConnectionStatus = "unknown";
  #error: unknown = null;
  /** The time before the last answered question was sent. */
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  #started: Promise<void> | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #stopped: Promise<void> | null = null;

  /** Sends nothing yet. The observer does not close the elector. */
  constructor(elector: Elector, options: ObserverOptions) {
    this.#elector = elector;
    this.#options = parseObserver(options);
    const { groupId, clock, random, retry } = this.#options;
    this.#hooks = new HookQueue((hook, error) => this.#hookFailed(hook, error));
    this.#watch = new LeaderWatch({
      ...USUAL,
      elector,
      groupId,
      clock,
      random,
      retry,
      changed: (leader, previousId) => this.#changed(leader, previousId),
      contact: (error) => this.#contact(error),
    });
  }

  /** Called when another node becomes leader, or none leads; calls never overlap. */
  onLeaderChange(hook: LeaderChangeHook): this {
    if (this.#hook !== null) {
      throw new InvalidRequestError("onLeaderChange", "has a hook already; call both from one function");
    }
    if (this.#started !== null)
      throw new InvalidRequestError("onLeaderChange", "must be called before start");
    this.#hook = hook;
    return this;
  }

  /** Observes until stopped. Resolves when the first question was answered or has failed; then it continues. */
  start(): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    this.#started ??= new Promise((resolve) => {
      // Both end when the signal aborts.
      const ended = Promise.allSettled([this.#watch.run(signal), this.#ask(signal, resolve)]);
      this.#running = ended.then(() => resolve());
    });
    return this.#started;
  }

  /** Idempotent. Waits for a hook that is running. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** The leader as far as it is known; `null` if there is none, or before the first news. */
  leader(): ObservedLeader | null {
    return this.#leader;
  }

  /** Every change acknowledged longer ago than this is included in what is shown; infinite before the first answer. */
  staleMs(): number {
    return this.#options.clock.monotonicMs() - this.#confirmedAtMs;
  }

  status(): ObserverStatus {
    return {
      leader: this.#leader,
      term: this.#watch.known?.term ?? 0,
      connection: this.#connection,
      staleMs: this.staleMs(),
      error: this.#error,
    };
  }

  /** All events from now on, until the observer is stopped. */
  changes(options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<ObserverEvent> {
    return this.#events.read(options.signal);
  }

  /** The last changes, oldest first, where the elector keeps them. */
  async history(options?: CallOptions): Promise<readonly LeadershipEvent[]> {
    const admin = this.#elector as Partial<ElectorAdmin>;
    if (admin.history === undefined) throw new InvalidRequestError("elector", "keeps no history");
    return (await admin.history(this.#options.groupId, options)).events;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new ClosedError("this observer was stopped; create another one"));
    await this.#running;
    await this.#hooks.run("stop", () => this.#events.end());
  }

  /**
   * A silent watch may be dead. So the elector is asked as well: at each change, for the leader's metadata, and
   * otherwise at intervals.
   */
  async #ask(signal: AbortSignal, answered: () => void): Promise<never> {
    const { groupId, clock, random, retry, connectionTimeoutMs, checkIntervalMs } = this.#options;
    const backoff = new Backoff(retry, random);
    for (;;) {
      const sentMs = clock.monotonicMs();
      let error: unknown = null;
      try {
        const leadership = await within(clock, { limitMs: connectionTimeoutMs, signal }, (limit) =>
          this.#elector.leader(groupId, { signal: limit }),
        );
        signal.throwIfAborted();
        this.#confirmedAtMs = sentMs;
        this.#contact(null);
        this.#take(leadership);
      } catch (cause) {
        signal.throwIfAborted();
        error = cause;
        this.#contact(error);
      }
      answered();
      // Another node was elected while the answer was on its way.
      const isBehind = this.#leader !== null && !this.#hasDetails;
      if (error === null && !isBehind) backoff.reset();
      await this.#watch.changed(error !== null || isBehind ? backoff.next(error) : checkIntervalMs, signal);
    }
  }

  #take({ leader, term }: Leadership): void {
    this.#watch.note({ nodeId: leader?.nodeId ?? null, term, reason: "none" }, null);
    const shown = this.#leader;
    if (leader === null || shown === null) return;
    if (leader.term !== shown.term || leader.nodeId !== shown.nodeId) return;
    const metadata = leader.metadata ?? null;
    if (this.#hasDetails && isDeepStrictEqual(metadata, shown.metadata)) return;
    this.#hasDetails = true;
    this.#leader = { nodeId: shown.nodeId, term, metadata, address: this.#addressOf(leader) };
    this.#events.emit({ kind: "details", leader: this.#leader });
  }

  #addressOf({ metadata }: Leader): string | null {
    if (metadata === undefined) return null;
    try {
      return this.#options.address(metadata) ?? null;
    } catch (error) {
      this.#hookFailed("address", error);
      return null;
    }
  }

  #changed(leader: KnownLeader, previousId: string | null): void {
    const { groupId, logger } = this.#options;
    const { nodeId, term } = leader;
    this.#hasDetails = false;
    this.#leader = nodeId === null ? null : { nodeId, term, metadata: null, address: null };
    logger.info({ group: groupId, leader: nodeId, term }, "leader changed");
    this.#events.emit({ kind: "leader-changed", leader, previousId });
    const hook = this.#hook;
    if (hook !== null) void this.#hooks.run("onLeaderChange", () => hook(leader, previousId));
  }

  #contact(error: unknown): void {
    const { groupId, logger } = this.#options;
    if (error !== null) {
      const level = isPermanent(error) ? "error" : "warn";
      logger[level]({ group: groupId, err: error }, "the elector did not answer as it should");
    }
    this.#error = error;
    const status = error === null || isPermanent(error) ? "connected" : "disconnected";
    if (status === this.#connection) return;
    this.#connection = status;
    this.#events.emit({ kind: "connection", status });
  }

  #hookFailed(hook: string, error: unknown): void {
    this.#options.logger.error({ group: this.#options.groupId, hook, err: error }, "hook failed");
    this.#events.emit({ kind: "hook-failed", hook, error });
  }
}
