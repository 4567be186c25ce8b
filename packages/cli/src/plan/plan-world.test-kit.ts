/** Real elections of two nodes, over real electors in virtual time, with the delays that a plan is made for. */
import { Election } from "@tenure/client";
import { waitInSlices } from "@tenure/client/parts";
import {
  type CallOptions,
  type CampaignRequest,
  type CampaignResult,
  type Elector,
  type LeaderOptions,
  type Leadership,
  MemoryStore,
  type RenewManyResult,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  StoreElector,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import { onAbort, parseCampaign } from "@tenure/core/internal";
import {
  type FaultPlan,
  FaultyStore,
  noFaults,
  type ProcessClock,
  Random,
  VirtualClock,
} from "@tenure/core/testing";
import type { PlanInput } from "./predict.js";

export interface Node {
  readonly clock: ProcessClock;
  readonly election: Election;
  /** The terms that it has led, with the true time of each win. */
  readonly wins: { readonly term: number; readonly atMs: number }[];
}

export class PlanWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly random: Random;
  /** Requests that nodes have sent to servers. */
  readonly sent = { renewals: 0, campaigns: 0 };
  readonly #input: PlanInput;
  readonly #store = new MemoryStore();
  readonly #electors: StoreElector[] = [];
  /** Of the nodes that use the store directly. */
  readonly #plans: FaultPlan[] = [];
  #outageUntilMs = 0;

  constructor(seed: number, input: PlanInput) {
    this.random = new Random(seed);
    this.#input = input;
    for (let server = 0; server < input.servers; server++)
      this.#electors.push(this.#elector(this.clock.process(), input.writeMs));
  }

  /** A node that has started, at one of the servers or with an elector of its own. */
  start(nodeId: string): Node {
    const { servers, ttlMs, rttMs, writeMs } = this.#input;
    const clock = this.clock.process();
    const elector =
      servers === 0
        ? this.#elector(clock, rttMs + writeMs)
        : new DistantElector(this, clock, rttMs / 2, this.random.pick(this.#electors));
    const wins: Node["wins"][number][] = [];
    const election = new Election(elector, {
      groupId: "g",
      nodeId,
      ttlMs,
      clock,
      random: () => this.random.next(),
    });
    election.onPromote(({ term }, signal) => {
      wins.push({ term, atMs: this.clock.monotonicMs() });
      return new Promise<void>((resolve) => void onAbort(signal, () => resolve()));
    });
    void election.start();
    return { clock, election, wins };
  }

  /** Advances true time until the condition holds, by steps of a millisecond at most. */
  async until(condition: () => boolean, limitMs: number): Promise<boolean> {
    const endMs = this.clock.monotonicMs() + limitMs;
    while (!condition() && this.clock.monotonicMs() < endMs) await this.clock.advance(1);
    return condition();
  }

  /** For this time nothing passes between nodes and servers, or between nodes and the store. */
  cut(durationMs: number): void {
    this.#outageUntilMs = this.clock.monotonicMs() + durationMs;
    for (const plan of this.#plans) plan.outageUntilMs = this.#outageUntilMs;
  }

  get isCut(): boolean {
    return this.clock.monotonicMs() < this.#outageUntilMs;
  }

  end(): void {
    this.clock.stop();
  }

  #elector(clock: ProcessClock, writeMs: number): StoreElector {
    const plan = noFaults();
    plan.requestMs = [writeMs / 2, writeMs / 2];
    plan.answerMs = [writeMs / 2, writeMs / 2];
    plan.feedMs = [writeMs / 2, writeMs / 2];
    const store = new FaultyStore({
      store: this.#store,
      time: this.clock,
      random: this.random.fork(),
      plan,
      gate: clock,
    });
    if (this.#input.servers === 0) this.#plans.push(plan);
    return StoreElector.open({ store, clock, random: () => this.random.next() });
  }
}

/** An elector behind a network: each way takes half of the round trip, and in an outage nothing arrives. */
class DistantElector implements Elector {
  readonly #world: PlanWorld;
  readonly #clock: ProcessClock;
  readonly #wayMs: number;
  readonly #server: StoreElector;

  constructor(world: PlanWorld, clock: ProcessClock, wayMs: number, server: StoreElector) {
    this.#world = world;
    this.#clock = clock;
    this.#wayMs = wayMs;
    this.#server = server;
  }

  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    return waitInSlices(this.#clock, parseCampaign(request), ({ waitMs }) => {
      this.#world.sent.campaigns += 1;
      return this.#call(() => this.#server.campaign({ ...request, waitMs }), options);
    });
  }

  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    this.#world.sent.renewals += 1;
    return this.#call(() => this.#server.renew(request), options);
  }

  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#call(() => this.#server.renewMany(requests), options);
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    return this.#call(() => this.#server.resign(request), options);
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#call(() => this.#server.leader(groupId), options);
  }

  async *watch(
    groupId: string,
    { cursor, signal }: WatchOptions = {},
  ): AsyncGenerator<WatchEvent, undefined> {
    const ending = new AbortController();
    const stopListening = onAbort(signal, () => ending.abort(signal?.reason));
    try {
      for await (const event of this.#server.watch(groupId, { cursor, signal: ending.signal })) {
        yield await new Promise<WatchEvent>((resolve) => this.#travel(() => resolve(event)));
      }
    } finally {
      stopListening();
      ending.abort();
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Without an answer it hangs until its caller gives it up, as over a connection that loses everything. */
  #call<T>(ask: () => Promise<T>, options: CallOptions | undefined): Promise<T> {
    const world = this.#world;
    return new Promise((resolve, reject) => {
      const signal = options?.signal;
      const stopListening = onAbort(signal, () => reject(signal?.reason as Error));
      const back = (settle: () => void): void =>
        this.#travel(() => {
          stopListening();
          settle();
        });
      // What a stopped process sends leaves when it goes on.
      this.#clock.pass(() => {
        if (world.isCut) return;
        world.clock.after(this.#wayMs, () => {
          if (world.isCut) return;
          ask().then(
            (value) => back(() => resolve(value)),
            (error: unknown) => back(() => reject(error)),
          );
        });
      });
    });
  }

  /** From a server to the node; what comes to a stopped process arrives when it goes on. */
  #travel(arrive: () => void): void {
    const world = this.#world;
    if (world.isCut) return;
    world.clock.after(this.#wayMs, () => {
      if (!world.isCut) this.#clock.pass(arrive);
    });
  }
}
