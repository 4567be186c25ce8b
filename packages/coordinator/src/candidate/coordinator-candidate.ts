/**
 * Stands for coordinator, and runs the coordination processes while it is.
 *
 * Promised: the children run on this node only while it leads; they have ended, or were killed, before the lease can end
 * elsewhere; a candidate that crashes comes back by itself, a few times; children that cannot be kept alive cost this
 * node the leadership, so that a healthier one gets it.
 */
import {
  Election,
  type ElectionStatus,
  type KnownLeader,
  type LeaseTime,
  type Mandate,
  openElector,
} from "@tenure/client";
import { type ElectorAdmin, InvalidRequestError, onAbort, sleep } from "@tenure/core";
import { functionChild } from "../supervisor/function-child.js";
import { Supervisor, type SupervisorEnd } from "../supervisor/supervisor.js";
import { type CoordinatorEvent, publish } from "../telemetry/telemetry.js";
import { readEnvironment } from "./environment.js";
import { type CoordinatorOptions, type ParsedCoordinator, parseCoordinator } from "./options.js";

/** Nothing of the candidate itself depends on a lease. */
const FOR_EVER: LeaseTime = { leftMs: () => Number.POSITIVE_INFINITY };

export type CandidateState = "idle" | "ineligible" | "running" | "failed" | "stopped";

export class CoordinatorCandidate implements AsyncDisposable {
  readonly #options: ParsedCoordinator;
  readonly #children: Supervisor;
  readonly #stopping = new AbortController();
  #election: Election | null = null;
  #state: CandidateState = "idle";
  #running: Promise<SupervisorEnd> | null = null;
  #close: () => Promise<void> = () => Promise.resolve();

  /**
   * With what the environment says: whether this node is eligible, the times, and over which service or store it is elected.
   * Not started yet; what it opens it closes when it is stopped.
   */
  static async open(
    env: Readonly<Record<string, string | undefined>>,
    options: Omit<CoordinatorOptions, "elector" | "eligible" | "takeoverDelayMs" | "electionIntervalMs">,
  ): Promise<CoordinatorCandidate> {
    const { electorUrl, ...fromEnvironment } = readEnvironment(env);
    if (electorUrl === null) {
      throw new InvalidRequestError("TENURE_SERVER", "is not set, nor is TENURE_STORE; say where to elect");
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
    const { clock, killMarginMs, given } = this.#options;
    const { children, strategy, intensity, onStuck } = given;
    this.#children = new Supervisor({
      children,
      clock,
      killMarginMs,
      ...(strategy === undefined ? {} : { strategy }),
      ...(intensity === undefined ? {} : { intensity }),
      ...(onStuck === undefined ? {} : { onStuck }),
    });
    // Its options are checked here, and not when it is too late to tell whoever gave them.
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

  /** Does nothing on a node that is not eligible. */
  start(): void {
    if (this.#running !== null || this.#state === "ineligible") return;
    const { eligible, given, clock } = this.#options;
    if (!eligible) {
      this.#state = "ineligible";
      return;
    }
    this.#state = "running";
    const supervisor = new Supervisor({
      clock,
      children: [
        functionChild("candidate", ({ signal }) => this.#live(signal), {
          restart: "permanent",
          // Its children have their times.
          stopTimeoutMs: Number.POSITIVE_INFINITY,
        }),
      ],
      ...(given.candidateIntensity === undefined ? {} : { intensity: given.candidateIntensity }),
    });
    this.#running = supervisor.run(0, this.#stopping.signal, FOR_EVER);
    void this.#running.then((end) => {
      this.#state = end.kind === "gave-up" ? "failed" : "stopped";
    });
  }

  /** Resolves when it has ended: `gave-up` with the reason if it failed for good. */
  async ended(): Promise<SupervisorEnd> {
    return (await this.#running) ?? { kind: "stopped" };
  }

  /** Stops the children in reverse order, then gives the leadership back. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#close();
    if (this.#state === "idle") this.#state = "stopped";
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** One life of the candidate. Rejects if it ended otherwise than by the signal. */
  async #live(signal: AbortSignal): Promise<void> {
    const election = this.#newElection();
    this.#election = election;
    election.onPromote((mandate, ending, lease) => this.#coordinate(election, mandate, ending, lease));
    election.onDemote((reason) => this.#tell("lost_leadership", { reason }));
    election.onLeaderChange((leader, previousId) => this.#leaderChanged(leader, previousId));
    const failed = failureOf(election);
    const ending = new AbortController();
    const checked = this.#check(ending.signal);
    try {
      this.#tell("election_started", {});
      await Promise.race([election.start().then(() => aborted(signal)), failed]);
    } finally {
      ending.abort();
      await election.stop();
      await checked;
    }
  }

  #newElection(): Election {
    const { given, groupId, ttlMs, takeoverDelayMs, clock } = this.#options;
    const { elector, nodeId, election } = given;
    return new Election(elector, {
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
    this.#tell("became_leader", { term });
    const end = await this.#children.run(term, signal, lease);
    if (end.kind === "stopped") return;
    election.resign({ standAgainAfterMs: this.#options.unfitForMs });
    throw end.error;
  }

  #leaderChanged({ nodeId }: KnownLeader, previousId: string | null): void {
    if (nodeId === null) {
      if (previousId !== null) this.#tell("leader_down", { leader: previousId });
    } else if (nodeId !== this.#options.given.nodeId) {
      this.#tell("leader_changed", { previous_leader: previousId, new_leader: nodeId });
    }
  }

  /** A look at who coordinates, and a sign of life, at every interval. */
  async #check(signal: AbortSignal): Promise<void> {
    const { given, groupId, electionIntervalMs, clock } = this.#options;
    const elector = given.elector as Partial<ElectorAdmin> & CoordinatorOptions["elector"];
    while (!signal.aborted) {
      try {
        const { leader } = await elector.leader(groupId, { signal });
        this.#tell("election_check", { leader: leader?.nodeId ?? null });
        await elector.heartbeat?.({ groupId, nodeId: given.nodeId }, { signal }).catch(() => {});
      } catch {
        if (!signal.aborted) this.#tell("election_check", { leader: null, answered: false });
      }
      await sleep(clock, electionIntervalMs, signal).catch(() => {});
    }
  }

  #tell(event: CoordinatorEvent, metadata: Readonly<Record<string, string | number | boolean | null>>): void {
    const { clock, given } = this.#options;
    publish({ event, measurements: { time: clock.wallMs() }, metadata: { node: given.nodeId, ...metadata } });
  }
}

/** Rejects when the election has failed for good; never resolves. */
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
