/**
 * Warm standby: prepares this process so that it can work as soon as it leads (`ElectionOptions.prepare`).
 *
 * 1. `prepare` runs when a run of an election starts, and again after each leadership in which `onPromote` was called,
 *    once `onDemote` has ended, because its results may be used up or closed. It never runs twice at the same time.
 * 2. The process is *ready* when `prepare` has resolved, and *cold* until then. Without `prepare` it is always ready.
 * 3. A rejection is reported, and `prepare` is repeated with the pauses of `retry` without a limit. `retry.maxAttempts`
 *    does not count here: a cold process is still the best leader that a group without any other candidate can have.
 * 4. A cold process campaigns as a cold candidate, or not at all (`campaignWhilePreparing`). If it is elected, it keeps
 *    the lease while it prepares; `onPromote` is called when it is ready, and not at all if the leadership is lost
 *    before.
 * 5. The signal aborts when the election stops or fails, and stopping waits until `prepare` has ended.
 */
import { type CallOptions, type Elector, type HeartbeatRequest, sleep } from "@tenure/core";
import { onAbort, LinkedController } from "@tenure/core/internal";
import { ENDED } from "./ended.js";
import type { ParsedElection } from "./options.js";
import type { Reporter } from "./reporter.js";
import { Backoff } from "./retry.js";

/** What `prepare` is called with. */
export interface PrepareContext {
  /** Aborts when the election stops. */
  readonly signal: AbortSignal;
}

/** Warms a process up; resolves when the process can work as soon as it leads. */
export type Prepare = (context: PrepareContext) => Promise<void> | void;

/** The options of an election that concern warm standby. */
export interface PreparationOptions {
  /**
   * Prepares this process so that it can work as soon as it leads: load caches, open connections, replay a log. It runs
   * when the election starts, and again after each leadership (when `onDemote` has ended), so it should do nothing if
   * everything is set up already. Its signal aborts when the election stops. A rejection is reported as `hook-failed`,
   * and `prepare` is called again with the pauses of `retry`.
   *
   * Until it has resolved, this process is a cold candidate: ready candidates that wait at the same server are elected
   * first, whatever their priorities, and no leader is asked to yield to it. `onPromote` is called when `prepare` has
   * resolved.
   *
   * @defaultValue none: the process is always ready
   */
  readonly prepare?: Prepare | undefined;
  /**
   * Whether this process campaigns before `prepare` has resolved. `true`: if no ready candidate waits for a vacancy,
   * this process takes it, keeps the lease, and works when it is ready. `false`: it leaves the vacancy open, and
   * `start()` resolves without waiting for `prepare`; a `prepare` that never resolves keeps the process out of the
   * contest.
   *
   * @defaultValue `true`
   */
  readonly campaignWhilePreparing?: boolean | undefined;
}

export interface PreparationParts {
  readonly elector: Elector;
  readonly options: ParsedElection;
  readonly reporter: Reporter;
  readonly stopping: AbortSignal;
  /** While this process leads: a signal that aborts when it no longer leads. */
  readonly leading: () => AbortSignal | null;
}

export class Preparation {
  readonly #parts: PreparationParts;
  readonly #ending: LinkedController;
  readonly #listeners = new Set<() => void>();
  #isReady: boolean;
  #running: Promise<void> | null = null;

  constructor(parts: PreparationParts) {
    this.#parts = parts;
    this.#isReady = parts.options.prepare === null;
    this.#ending = new LinkedController(parts.stopping);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Starts `prepare`, unless it is running. */
  begin(): void {
    const { options, reporter } = this.#parts;
    if (options.prepare === null || this.#running !== null || this.#ending.signal.aborted) return;
    this.#isReady = false;
    reporter.readiness(false);
    this.#running = this.#untilReady(options.prepare, this.#ending.signal).finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when `prepare` no longer runs and will not run again. */
  async end(): Promise<void> {
    this.#ending.abort(ENDED);
    await this.#running;
  }

  /** True when the process is ready; false if the signal aborts first. */
  async ready(signal: AbortSignal): Promise<boolean> {
    if (this.#isReady || signal.aborted) return this.#isReady;
    await new Promise<void>((resolve) => {
      const stopListening = onAbort(signal, () => resolve());
      this.onReady(() => {
        stopListening();
        resolve();
      });
    });
    return !signal.aborted;
  }

  /** Calls back once, when the process becomes ready; returns the function that stops it. */
  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #untilReady(prepare: Prepare, signal: AbortSignal): Promise<void> {
    const { options, reporter } = this.#parts;
    const backoff = new Backoff(options.retry, options.random);
    while (!signal.aborted) {
      try {
        await prepare({ signal });
        if (!signal.aborted) this.#becomeReady();
        return;
      } catch (error) {
        if (signal.aborted) return;
        reporter.hookFailed("prepare", error);
      }
      await sleep(options.clock, backoff.next(), signal).catch(() => {});
    }
  }

  #becomeReady(): void {
    this.#isReady = true;
    this.#parts.reporter.readiness(true);
    this.#announce();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  /**
   * Shows in the members that a leader elected cold has become ready, since its renewals do not say so. It is for
   * people only, so an elector without members, or one that does not answer, changes nothing.
   */
  #announce(): void {
    const signal = this.#parts.leading();
    const elector = this.#parts.elector as Partial<WithMembers>;
    if (signal === null || elector.heartbeat === undefined) return;
    const { groupId, nodeId } = this.#parts.options;
    elector.heartbeat({ groupId, nodeId, ready: true }, { signal }).catch(() => {});
  }
}

interface WithMembers {
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<void>;
}
