/** How long a group is without a leader: after one that resigns, and after one that dies. */
import { randomUUID } from "node:crypto";
import type { Clock, Elector, Leader } from "@tenure/core";

export interface FailoverOptions {
  readonly elector: Elector;
  readonly clock: Clock;
  readonly groupId: string;
  readonly handovers: number;
  readonly deaths: number;
  readonly ttlMs: number;
  readonly signal: AbortSignal;
  readonly progress: (share: number) => void;
}

export interface Failover {
  /** From the sending of a resignation to the next leader's win. */
  readonly handoversMs: readonly number[];
  /** From the last renewal of a leader that died to the win of the next one. */
  readonly deathsMs: readonly number[];
}

const WAIT_MS = 60_000;

export async function measureFailover(options: FailoverOptions): Promise<Failover> {
  const { handovers, deaths, progress } = options;
  const rounds = new Rounds(options);
  const handoversMs: number[] = [];
  const deathsMs: number[] = [];
  await rounds.begin();
  for (let round = 0; round < handovers; round++) {
    handoversMs.push(await rounds.handOver());
    progress((round + 1) / (handovers + deaths));
  }
  for (let round = 0; round < deaths; round++) {
    deathsMs.push(await rounds.die());
    progress((handovers + round + 1) / (handovers + deaths));
  }
  await rounds.end();
  return { handoversMs, deathsMs };
}

/** One leader after the other, each of a new node. */
class Rounds {
  readonly #options: FailoverOptions;
  #number = 0;
  #leader: { readonly nodeId: string; readonly instanceId: string; readonly term: number } | null = null;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.#campaign(0);
  }

  async handOver(): Promise<number> {
    const { clock } = this.#options;
    const leader = this.#current();
    const next = this.#campaign(WAIT_MS);
    // It may reject before it is awaited.
    next.catch(() => {});
    // Gives the next candidate the time to arrive and wait.
    await this.#options.elector.leader(this.#options.groupId);
    const sentMs = clock.monotonicMs();
    await this.#resign(leader);
    await next;
    return clock.monotonicMs() - sentMs;
  }

  async die(): Promise<number> {
    const { clock, elector, groupId, ttlMs, signal } = this.#options;
    const { nodeId, instanceId, term } = this.#current();
    const sentMs = clock.monotonicMs();
    const renewed = await elector.renew({ groupId, nodeId, instanceId, term, ttlMs }, { signal });
    if (renewed.kind === "not-leader") throw new Error(`the benchmark lost its own group ${groupId}`);
    await this.#campaign(WAIT_MS);
    return clock.monotonicMs() - sentMs;
  }

  async end(): Promise<void> {
    await this.#resign(this.#current());
  }

  async #resign(leader: { nodeId: string; instanceId: string; term: number }): Promise<void> {
    await this.#options.elector.resign({ groupId: this.#options.groupId, ...leader });
  }

  async #campaign(waitMs: number): Promise<Leader> {
    const { elector, groupId, ttlMs, signal } = this.#options;
    const nodeId = `tenure-bench-${this.#number++ % 2}`;
    const instanceId = randomUUID();
    const request = { groupId, nodeId, instanceId, ttlMs, ...(waitMs === 0 ? {} : { waitMs }) };
    const result = await elector.campaign(request, { signal });
    if (result.kind === "lost") throw new Error(`no candidate won ${groupId} within ${waitMs} ms`);
    this.#leader = { nodeId, instanceId, term: result.leader.term };
    return result.leader;
  }

  #current(): { readonly nodeId: string; readonly instanceId: string; readonly term: number } {
    if (this.#leader === null) throw new Error("the first campaign has not been sent");
    return this.#leader;
  }
}
