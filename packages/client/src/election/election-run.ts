/**
 * One run of an election, from `start()` to its end, with its own instance id.
 *
 * A run begins when the run before it has ended, so the work of two runs never overlaps. It shares with the other runs of its
 * election only the hooks, the telemetry and the highest term that was led or given up.
 */
import { ClosedError, type Elector, type Metadata, sleep } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";
import { type Breaker, breakerOf } from "./breaker.js";
import { Candidacy, type Won } from "./candidacy.js";
import { Comeback } from "./comeback.js";
import { ENDED } from "./ended.js";
import { ElectionStoppedError } from "./errors.js";
import { giveBack } from "./give-back.js";
import type { Health } from "./health.js";
import { LeaderWatch } from "./leader-watch.js";
import { Leadership } from "./leadership.js";
import type { LeaseRenewerHold } from "./lease-renewer.js";
import type { ParsedElection } from "./options.js";
import { OverdueWork } from "./overdue-work.js";
import { Preparation } from "./preparation.js";
import { allowPriorityTakeover } from "./priority-takeover.js";
import type { Reporter } from "./reporter.js";
import { codeOf, Rest } from "./retry.js";
import type { DemoteReason, ElectionState, KnownLeader, Mandate } from "./state.js";

export interface ElectionRunParts {
  readonly elector: Elector;
  readonly options: ParsedElection;
  readonly reporter: Reporter;
  readonly health: Health;
  /** Resolves when the run before this one has ended. */
  readonly after: Promise<void>;
  /** No term up to this one may be led by this process. Shared by all runs. */
  readonly ended: { term: number };
  readonly metadata: () => Metadata | undefined;
  readonly moved: (state: ElectionState) => void;
  /** Runs the user's work; decides whether the leadership continues if the work failed. Resolves when the work has ended. */
  readonly promote: (leadership: Leadership) => Promise<void>;
  readonly demote: (reason: DemoteReason) => Promise<void>;
  readonly leaderChanged: (leader: KnownLeader, previousId: string | null) => void;
}

export class ElectionRun {
  readonly instanceId: string;
  readonly watch: LeaderWatch;
  readonly #breaker: Breaker;
  readonly preparation: Preparation;
  /** Resolves when the first campaign was answered or has failed; rejects if the run failed before that. */
  readonly started: Promise<void>;
  /** Resolves when everything has ended, for whatever reason. */
  readonly ended: Promise<void>;
  readonly #parts: ElectionRunParts;
  readonly #comeback: Comeback;
  readonly #candidacy: Candidacy;
  readonly #stopping = new AbortController();
  readonly #rest: Rest;
  #leadership: Leadership | null = null;
  #hold: LeaseRenewerHold | null = null;
  /** Why the run ends, if not by `stop()`. */
  #failure: Error | null = null;
  #hasEnded = false;
  #resignOnStop: boolean;
  #standAgainAtMs = Number.NEGATIVE_INFINITY;
  #campaignedWith: Metadata | undefined;
  #updated: Promise<unknown> = Promise.resolve();

  constructor(parts: ElectionRunParts) {
    const { elector, options } = parts;
    const { random, retry, newId, deleteOnStop } = options;
    this.#parts = parts;
    this.instanceId = newId();
    this.#resignOnStop = deleteOnStop;
    this.#rest = new Rest(retry, random);
    this.#breaker = options.breaker ?? breakerOf(elector, options.clock);
    this.watch = new LeaderWatch({
      ...options,
      elector,
      changed: parts.leaderChanged,
      contact: (error) => this.#heard(error),
    });
    this.#comeback = new Comeback({ options, watch: this.watch });
    this.preparation = new Preparation({
      elector,
      options,
      reporter: parts.reporter,
      stopping: this.#stopping.signal,
      leading: () => this.#leadership?.signal ?? null,
    });
    this.#candidacy = this.#newCandidacy();
    let answered = (): void => {};
    let refused = (_error: Error): void => {};
    this.started = new Promise((resolve, reject) => {
      answered = resolve;
      refused = reject;
    });
    this.started.catch(() => {});
    this.ended = this.#live(answered, refused);
  }

  /** Neither stopped nor ended. */
  get isOpen(): boolean {
    return !this.#hasEnded && !this.#stopping.signal.aborted;
  }

  /** The current leadership, until its work and `onDemote` have ended. */
  get leadership(): Leadership | null {
    return this.#leadership;
  }

  /** The options of the first call count. */
  stop(resign: boolean | undefined): void {
    if (this.#stopping.signal.aborted) return;
    this.#resignOnStop = resign ?? this.#resignOnStop;
    this.#stopping.abort(new ElectionStoppedError("the election was stopped"));
    this.#leadership?.lose("stopped");
  }

  /** The work of `lead` has ended. The run ends when the lease was given back. */
  finish(): void {
    this.#leadership?.lose("finished");
    this.#stopping.abort(ENDED);
  }

  resign(standAgainAfterMs: number): void {
    this.#standAgainAtMs = this.#parts.options.clock.monotonicMs() + standAgainAfterMs;
    this.#leadership?.lose("resigned");
  }

  /**
   * Sends the current metadata to the elector if this process leads; otherwise the next campaign does. One update at a
   * time.
   */
  update(): Promise<void> {
    const updating = this.#updated.then(() => this.#publish());
    this.#updated = updating.catch(() => {});
    return updating;
  }

  async #publish(): Promise<void> {
    const leadership = this.#leadership;
    if (leadership === null || !leadership.isLeading()) return;
    const metadata = this.#parts.metadata();
    this.#campaignedWith = metadata;
    // If the campaign won another term than the one led, that term is given back.
    const stray = await leadership.publish(metadata, this.preparation.isReady).catch((error: unknown) => {
      this.#candidacy.suspect();
      throw error;
    });
    if (stray !== null) await this.#resign(stray);
  }

  async #live(answered: () => void, refused: (error: Error) => void): Promise<void> {
    const { reporter, after } = this.#parts;
    try {
      await after;
      reporter.begin();
      this.#move({ kind: "following" });
      await this.#stand(answered);
      this.#move({ kind: "stopped" });
      reporter.stopped();
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error("the election has failed", { cause });
      this.#move({ kind: "failed", error });
      reporter.failed(error);
      refused(error);
    } finally {
      this.#hasEnded = true;
    }
  }

  /** Ends when the run was stopped; rejects if it failed. */
  async #stand(answered: () => void): Promise<void> {
    const watching = new AbortController();
    const watched = this.watch.run(watching.signal);
    this.preparation.begin();
    const { signal } = this.#stopping;
    try {
      for (;;) {
        await this.#openRenewer();
        const won = await this.#candidacy.seek(signal, answered);
        await this.#lead(won, answered);
        this.#move({ kind: "following" });
      }
    } catch (error) {
      if (this.#failure !== null) throw this.#failure;
      if (!signal.aborted) throw error;
      answered();
      const { heldTerm } = this.#comeback;
      if (heldTerm !== null && this.#resignOnStop) await this.#resign(heldTerm);
    } finally {
      this.#leadership?.lose("stopped");
      this.#leadership?.release();
      this.#hold?.close();
      watching.abort(ENDED);
      await Promise.all([watched, this.preparation.end()]);
    }
  }

  /**
   * A renewer that cannot be opened at the start fails the election. If it fails later, opening it is retried, and
   * others may lead meanwhile.
   */
  async #openRenewer(): Promise<void> {
    const { options, reporter } = this.#parts;
    const { signal } = this.#stopping;
    const open = options.renewer?.open;
    if (open === undefined || this.#hold?.isOpen === true) return;
    for (;;) {
      signal.throwIfAborted();
      const opening = open();
      try {
        const hold = await unlessAborted(signal, opening);
        this.#hold?.close();
        this.#hold = hold;
        return;
      } catch (error) {
        if (signal.aborted) void opening.then((hold) => hold.close()).catch(() => {});
        signal.throwIfAborted();
        reporter.renewerFailed(error);
        if (this.#hold === null) throw error;
        await sleep(options.clock, this.#rest.afterMs(true, 0), signal);
      }
    }
  }

  #newCandidacy(): Candidacy {
    const { elector, options, health, reporter, metadata } = this.#parts;
    return new Candidacy({
      elector,
      options,
      instanceId: this.instanceId,
      breaker: this.#breaker,
      health,
      watch: this.watch,
      comeback: this.#comeback,
      preparation: this.preparation,
      reporter,
      metadata: () => {
        this.#campaignedWith = metadata();
        return this.#campaignedWith;
      },
      standing: (healthy) => this.#move({ kind: healthy ? "following" : "unhealthy" }),
      standAgainAtMs: () => this.#standAgainAtMs,
      prepare: async (signal) => {
        if (options.priorityTakeover) await allowPriorityTakeover(elector, options.groupId, signal);
      },
      giveBack: (term) => this.#resign(term),
    });
  }

  async #lead({ result, answer }: Won, answered: () => void): Promise<void> {
    const { options, reporter, ended, demote, metadata } = this.#parts;
    const { groupId, nodeId } = options;
    const { term } = result.leader;
    const token = result.mandate === undefined ? {} : { token: result.mandate };
    const mandate: Mandate = { groupId, nodeId, instanceId: this.instanceId, term, ...token };
    const correlationId = options.newId();
    // A term is led once. A lease whose answer came too late has nothing left.
    const mayLead = term > ended.term && !this.#stopping.signal.aborted;
    const leadership = mayLead ? this.#begin(mandate, answer) : null;
    if (leadership === null) {
      await this.#resign(term);
      return;
    }
    ended.term = term;
    this.#leadership = leadership;
    this.watch.note({ nodeId, term, reason: result.reason ?? "none" }, null);
    this.#move({ kind: "leading", mandate });
    reporter.promoted(mandate, correlationId);
    const work = this.#promote(leadership);
    answered();
    if (this.#campaignedWith !== metadata())
      this.update().catch((error: unknown) => reporter.requestFailed("update", error));
    if (result.transferTo !== undefined) leadership.lose("transferred");
    const reason = await leadership.lost;
    const overdue = this.#watchWork(leadership, reason);
    const isPromoted = await work;
    if (overdue.stop()) reporter.workEnded();
    if (isPromoted) {
      await demote(reason);
      this.preparation.begin();
    }
    leadership.release();
    reporter.demoted(mandate, reason, leadership.error);
    this.#leadership = null;
    this.#stayOut(leadership, reason);
    if (reason === "lapsed" && options.takeoverDelayMs > 0) this.#comeback.begin(term);
    else if (reason !== "stopped" || this.#resignOnStop) {
      this.#move({ kind: "resigning", mandate, reason });
      await this.#resign(term);
    }
  }

  /** A leader that was elected cold keeps the lease while it prepares. False: the leadership was lost before it was ready. */
  async #promote(leadership: Leadership): Promise<boolean> {
    const { isReady } = this.preparation;
    if (!isReady && !(await this.preparation.ready(leadership.signal))) return false;
    await this.#parts.promote(leadership);
    return true;
  }

  /** `null` if nothing is left of the lease, or if it cannot be renewed. */
  #begin(mandate: Mandate, won: Won["answer"]): Leadership | null {
    const { elector, options, health, reporter } = this.#parts;
    try {
      const leadership: Leadership = new Leadership({
        elector,
        options,
        mandate,
        won,
        health,
        reporter,
        losing: (reason, error) => {
          // Before the promotion there is no leadership to lose.
          if (this.#leadership !== leadership) return;
          const why = error === undefined ? {} : { error };
          this.#move({ kind: "stepping-down", mandate, reason, ...why });
          reporter.demoting(mandate, reason, error);
        },
      });
      return leadership.begin() ? leadership : null;
    } catch (error) {
      reporter.renewerFailed(error);
      this.#standAgainAtMs = options.clock.monotonicMs() + this.#rest.afterMs(true, 0);
      return null;
    }
  }

  #watchWork(leadership: Leadership, reason: DemoteReason): OverdueWork {
    const { options, reporter } = this.#parts;
    const leaseLeftMs = () => leadership.leftMs();
    return new OverdueWork({
      clock: options.clock,
      allowedMs: options.stopMarginMs,
      minPauseMs: options.heartbeatIntervalMs,
      leaseLeftMs,
      report: (overdueMs) => reporter.workOverdue(leadership.mandate, reason, overdueMs, leaseLeftMs()),
    });
  }

  /** A process that fails each time it leads stays out longer each time, so that others can lead. */
  #stayOut(leadership: Leadership, reason: DemoteReason): void {
    const { clock, renewer } = this.#parts.options;
    const isDead = reason === "lapsed" && renewer !== null && !leadership.wasRenewed;
    const hasFailed = isDead || reason === "heart-failed" || reason === "promote-failed";
    const restMs = this.#rest.afterMs(hasFailed, leadership.ageMs);
    if (restMs > 0) this.#standAgainAtMs = Math.max(this.#standAgainAtMs, clock.monotonicMs() + restMs);
  }

  async #resign(term: number): Promise<void> {
    const { elector, options, reporter, ended } = this.#parts;
    ended.term = Math.max(ended.term, term);
    const { instanceId } = this;
    const resigned = await giveBack(elector, this.#breaker, options, { instanceId, term }, (error) =>
      reporter.requestFailed("resign", error),
    );
    if (resigned) this.watch.note({ nodeId: null, term, reason: "resigned" }, options.nodeId);
  }

  #move(next: ElectionState): void {
    if (this.#stopping.signal.aborted && next.kind === "following") return;
    this.#parts.moved(next);
  }

  /** Handles what the watch reports about the connection. */
  #heard(error: unknown): void {
    // A leader's renewals show the state of its connection better than its watch does.
    if (this.#leadership !== null) return;
    if (error === null) this.#parts.reporter.answered();
    else this.#parts.reporter.requestFailed("watch", error);
    if (codeOf(error) !== "CLOSED" || this.#stopping.signal.aborted) return;
    this.#failure = new ClosedError("the elector was closed while the election was running", {
      cause: error,
    });
    this.#stopping.abort(this.#failure);
  }
}
