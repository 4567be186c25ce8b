/** A client process and its runs: each start has a new instance id. */
import type { ClientProcess } from "./checks/check.js";
import type { Environment } from "./environment.js";
import { Renewer } from "./renewer.js";
import type { Random } from "@tenure/core/testing";
import { SimCandidate } from "./sim-candidate.js";

export interface SimClientOptions {
  readonly environment: Environment;
  readonly name: string;
  readonly nodeId: string;
  readonly groupIds: readonly string[];
  readonly rate: number;
  /** Without one, its node id must name one process, so each start has a node id of its own. */
  readonly sendsInstance: boolean;
  readonly random: Random;
}

/** A process that takes part, by the code of the simulation or by that of the client library. */
export interface Client {
  readonly name: string;
  readonly nodeId: string;
  readonly process: ClientProcess | null;
  start(): void;
  stop(): void;
  crash(): void;
  /** It was paused, and continues now. */
  woke(how: "pause" | "suspend"): void;
}

export class SimClient implements Client {
  readonly name: string;
  readonly #options: SimClientOptions;
  #candidates: readonly SimCandidate[] = [];
  #lives = 0;
  #process: ClientProcess | null = null;

  constructor(options: SimClientOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Of the present life, or where it is down, of the process as such. */
  get nodeId(): string {
    return this.#process?.nodeId ?? this.#options.nodeId;
  }

  get process(): ClientProcess | null {
    return this.#process;
  }

  start(): void {
    if (this.#process !== null) return;
    const { environment, nodeId, random, rate, sendsInstance } = this.#options;
    const life = ++this.#lives;
    const { stops } = environment;
    const clock = environment.time.process({
      ...(stops === null ? {} : { stops: { plan: stops, random: random.fork() } }),
      rate,
      wallOffsetMs: random.between(-5000, 5000),
      originMs: random.between(0, 1e7),
      bootTickMs: 10,
    });
    const process: ClientProcess = {
      name: `${this.name}.${life}`,
      nodeId: sendsInstance ? nodeId : `${nodeId}.${life}`,
      instanceId: sendsInstance ? `${this.name}.${life}` : undefined,
      clock,
    };
    this.#process = process;
    const renewer = new Renewer(environment, clock, random.fork());
    this.#candidates = this.#options.groupIds.map((groupId) => {
      return new SimCandidate(environment, process, groupId, random.fork(), renewer);
    });
    const lives = Promise.all(this.#candidates.map((candidate) => candidate.run()));
    lives.then(
      () => this.#gone(process),
      (error: unknown) => environment.checks.unexpected(error),
    );
  }

  /** Like SIGTERM: it finishes, resigns and ends. */
  stop(): void {
    const candidates = this.#candidates;
    this.#process?.clock.pass(() => {
      for (const candidate of candidates) candidate.stop();
    });
  }

  /** A running machine closes the connections of a process that is gone; one that lost its power does not. */
  crash(): void {
    const { environment, random } = this.#options;
    const process = this.#process;
    if (process === null) return;
    process.clock.kill();
    if (random.chance(0.5)) environment.network.hangUp(process.clock);
    this.#process = null;
  }

  woke(): void {}

  #gone(process: ClientProcess): void {
    if (this.#process !== process) return;
    process.clock.kill();
    this.#process = null;
  }
}
