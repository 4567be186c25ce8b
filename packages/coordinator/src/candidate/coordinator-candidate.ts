/**
 * Campaigns for coordinator, and runs the coordination processes while it leads.
 *
 * Promised: the children run on this node only while it leads; they have ended, or were killed, before another node can
 * lead; a candidate that crashes restarts by itself, a few times; children that cannot be kept alive cost this node the
 * leadership, so that a healthier node gets it.
 */
import {
  type DemoteReason,
  Election,
  type ElectionStatus,
  type KnownLeader,
  type LeaseTime,
  type Mandate,
  openElector,
} from "@tenure/client";
import { type ElectorAdmin, InvalidRequestError, sleep } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { functionChild } from "../supervisor/function-child.js";
import { Supervisor, type SupervisorEnd } from "../supervisor/supervisor.js";
import { CoordinatorReporter } from "../telemetry/coordinator-reporter.js";
import type { CoordinatorEvent, CoordinatorMessage } from "../telemetry/telemetry.js";
import { readEnvironment } from "./environment.js";
import { type CoordinatorOptions, type ParsedCoordinator, parseCoordinator } from "./options.js";

/** The candidate itself does not depend on a lease. */
const FOR_EVER: LeaseTime = { leftMs: () => Number.POSITIVE_INFINITY };

export type CandidateState = "idle" | "ineligible" | "running" | "failed" | "stopped";

export class CoordinatorCandidate implements AsyncDisposable {
  readonly #options: ParsedCoordinator;
  readonly #children: Supervisor;
  readonly #reporter: CoordinatorReporter;
  readonly #started = new Deferred<void>();
  readonly #ended = new Deferred<SupervisorEnd>();
  readonly #stopping = new AbortController();
  #election: Election | null = null;
  #state: CandidateState = "idle";
  #running: Promise<SupervisorEnd> | null = null;
  /** Whether this leadership ends because its children could not be kept alive. */
  #haveChildrenFailed = false;
  #close: () => Promise<void> = () => Promise.resolve();

  /**
   * Opens a candidate with the settings of the environment: whether this node is eligible, the times, and the service
   * or store of the election. It is not started yet; `stop()` closes what this call opened.
   */
  static async open(
    env: Readonly<Record<string, string | undefined>>,
    options: Omit<CoordinatorOptions, "elector" | "eligible" | "takeoverDelayMs" | "electionIntervalMs">,
  ): Promise<CoordinatorCandidate> {
    const { electorUrl, ...fromEnvironment } = readEnvironment(env);
    if (electorUrl === null) {
      throw new InvalidRequestError(
        "TENURE_SERVER",
        "is not set, and neither is TENURE_STORE; set one of them",
      );
    }
    const elector = await openElector(electorUrl);
    try {
      const candidate = new CoordinatorCandidate({ ...options, ...fromEnvironment, elector });
      candidate.#close = () => elector.close();
      return candidate;
    } catch (error) {
      await elector.close();
      throw error;
    }
  }

  constructor(options: CoordinatorOptions) {
    this.#options = parseCoordinator(options);
    const { clock, groupId, killMarginMs, given } = this.#options;
    const { children, strategy, intensity, onStuck, nodeId, logger } = given;
    this.#reporter = new CoordinatorReporter({ nodeId, groupId, clock, logger });
    this.#children = new Supervisor({
      children,
      clock,
      killMarginMs,
      onStuck,
      onChild: (event) => this.#reporter.child(event),
      ...(strategy === undefined ? {} : { strategy }),
      ...(intensity === undefined ? {} : { intensity }),
    });
    // Checks the options of the election here, so that the caller gets the error.
    this.#newElection();
  }

  get state(): CandidateState {
    return this.#state;
  }

  /** The children that run here now. */
  get running(): readonly string[] {
    return this.#children.running;
  }

  isCoordinator(): boolean {
    return this.#election?.isLeader() ?? false;
  }

  status(): ElectionStatus | null {
    return this.#election?.status() ?? null;
  }

  /**
   * Begins to campaign; does nothing on a node that is not eligible. Resolves when the first campaign was answered or
   * has failed, or when the candidate was stopped; always the same promise. Rejects if the candidate failed permanently
   * before; `ended()` reports that too.
   */
  start(): Promise<void> {
    if (this.#state !== "idle") return this.#started.promise;
    const { eligible, given, clock } = this.#options;
    if (!eligible) {
      this.#state = "ineligible";
      this.#started.resolve();
      this.#ended.resolve({ kind: "stopped" });
      return this.#started.promise;
    }
    this.#state = "running";
    const supervisor = new Supervisor({
      clock,
      children: [
        functionChild("candidate", ({ signal }) => this.#live(signal), {
          restart: "permanent",
          // Its children have their own time limits.
          stopTimeoutMs: Number.POSITIVE_INFINITY,
        }),
      ],
      ...(given.candidateIntensity === undefined ? {} : { intensity: given.candidateIntensity }),
      onChild: (event) => {
        if (event.kind === "crashed") this.#reporter.candidateCrashed(event.error);
      },
    });
    this.#running = supervisor.run(0, this.#stopping.signal, FOR_EVER);
    void this.#running.then((end) => {
      this.#state = end.kind === "gave-up" ? "failed" : "stopped";
      if (end.kind === "gave-up") this.#started.reject(end.error);
      this.#started.resolve();
      this.#ended.resolve(end);
    });
    return this.#started.promise;
  }

  /**
   * Resolves when the candidate has ended: `gave-up` with the reason if it failed permanently. May be called before
   * `start()`. On a node that is not eligible it has ended when `start()` was called.
   */
  ended(): Promise<SupervisorEnd> {
    return this.#ended.promise;
  }

  /** Stops the children in reverse order, then gives the leadership back. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#close();
    if (this.#state === "idle") this.#state = "stopped";
    this.#started.resolve();
    this.#ended.resolve({ kind: "stopped" });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** One run of the candidate. Rejects if it ended for any reason but the signal. */
  async #live(signal: AbortSignal): Promise<void> {
    const election = this.#newElection();
    this.#election = election;
    election.onPromote((mandate, ending, lease) => this.#coordinate(election, mandate, ending, lease));
    election.onDemote((reason) => this.#lost(reason));
    election.onLeaderChange((leader, previousId) => this.#leaderChanged(leader, previousId));
    const failed = failureOf(election);
    const ending = new AbortController();
    this.#tell("election_started", {});
    const started = election.start();
    const checked = this.#check(election, ending.signal);
    try {
      await Promise.race([started.then(() => this.#answered(signal)), failed]);
    } finally {
      ending.abort();
      await election.stop();
      await checked;
    }
  }

  #newElection(): Election {
    const { given, groupId, ttlMs, takeoverDelayMs, clock } = this.#options;
    const { elector, nodeId, logger, election } = given;
    return new Election(elector, {
      ...(logger === undefined ? {} : { logger }),
      ...election,
      groupId,
      nodeId,
      ttlMs,
      takeoverDelayMs,
      clock,
    });
  }

  async #coordinate(
    election: Election,
    { term }: Mandate,
    signal: AbortSignal,
    lease: LeaseTime,
  ): Promise<void> {
    this.#haveChildrenFailed = false;
    this.#tell("became_leader", { term });
    const end = await this.#children.run(term, signal, lease);
    if (end.kind === "stopped") return;
    this.#haveChildrenFailed = true;
    this.#reporter.childrenFailed(term, end.id, end.error);
    election.resign({ standAgainAfterMs: this.#options.unfitForMs });
  }

  #lost(reason: DemoteReason): void {
    const isTheirs = reason === "resigned" && this.#haveChildrenFailed;
    this.#tell("lost_leadership", { reason: isTheirs ? "children-failed" : reason });
  }

  /** The same leader in another term is no change, and `lost_leadership` reports the end of this node's own leadership. */
  #leaderChanged({ nodeId }: KnownLeader, previousId: string | null): void {
    const own = this.#options.given.nodeId;
    if (nodeId === previousId) return;
    if (nodeId === null) {
      if (previousId !== null && previousId !== own) this.#tell("leader_down", { leader: previousId });
    } else if (nodeId !== own) {
      this.#tell("leader_changed", { previous_leader: previousId, new_leader: nodeId });
    }
  }

  /**
   * Asks who coordinates, and sends a heartbeat, at every interval. The answer counts: the watch may be at a server
   * that has stopped answering.
   */
  async #check(election: Election, signal: AbortSignal): Promise<void> {
    const { given, groupId, electionIntervalMs, clock } = this.#options;
    const elector = given.elector as Partial<ElectorAdmin> & CoordinatorOptions["elector"];
    while (!signal.aborted) {
      try {
        const leader = await election.refresh({ signal });
        this.#tell("election_check", { leader });
        await elector.heartbeat?.({ groupId, nodeId: given.nodeId }, { signal }).catch(() => {});
      } catch {
        if (!signal.aborted) this.#tell("election_check", { leader: null, answered: false });
      }
      await sleep(clock, electionIntervalMs, signal).catch(() => {});
    }
  }

  #tell(event: CoordinatorEvent, metadata: CoordinatorMessage["metadata"]): void {
    this.#reporter.event(event, metadata);
  }

  async #answered(signal: AbortSignal): Promise<void> {
    this.#started.resolve();
    await aborted(signal);
  }
}

/** A promise that is settled from outside. A rejection need not be handled. */
class Deferred<T> {
  readonly promise: Promise<T>;
  resolve: (value: T) => void = () => {};
  reject: (error: Error) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(() => {});
  }
}

/** Rejects when the election has failed permanently; never resolves. */
async function failureOf(election: Election): Promise<never> {
  for await (const event of election.changes()) if (event.kind === "failed") throw event.error;
  return new Promise(() => {});
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else onAbort(signal, () => resolve());
  });
}
