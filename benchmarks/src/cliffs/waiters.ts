/** A queue of campaigns that wait for one group: what each of them costs, and what a renewal costs while they wait. */
import type { CampaignResult } from "@tenure/core";
import { type Cliff, collectGarbage, CpuTime, type Figures } from "./cliff.js";
import { close, type ElectedGroups, electedGroups, groupAt } from "./elected-groups.js";
import { HandClock } from "./hand-clock.js";

const SIZES = [100, 1000, 10_000] as const;
/** Waiters in all. */
const WORK = 10_000;
const RENEWALS = 10_000;
/** One in ten is elected: the others see that the queue is still long. */
const SERVED_SHARE = 0.1;
const TTL_MS = 60_000;
/** Shorter than the lease, which is not to end here. */
const WAIT_MS = 30_000;

const GROUP = groupAt(0);

export const waiters: Cliff = {
  name: "waiters",
  of: "waiter in the queue of a group",
  sizes: SIZES,
  open: async (size) => ({ round: () => round(size) }),
};

async function round(size: number): Promise<Figures> {
  const queueing = new CpuTime();
  const renewing = new CpuTime();
  const leaving = new CpuTime();
  const ending = new CpuTime();
  const serving = new CpuTime();
  const queues: Queue[] = [];
  for (let waiting = 0; waiting < WORK; waiting += size) queues.push(await Queue.open(size));
  collectGarbage();
  for (const queue of queues) await queueing.of(() => queue.fill());
  collectGarbage();
  for (const queue of queues) await renewing.of(() => queue.renew(RENEWALS / queues.length));
  collectGarbage();
  for (const queue of queues) await leaving.of(() => queue.leave());
  for (const queue of queues) await queue.fill();
  collectGarbage();
  for (const queue of queues) await ending.of(() => queue.end());
  for (const queue of queues) await queue.fill();
  collectGarbage();
  for (const queue of queues) await serving.of(() => queue.serve(size * SERVED_SHARE));
  for (const queue of queues) await queue.close();
  return {
    "to queue": queueing.us / WORK,
    "to leave as the caller hangs up": leaving.us / WORK,
    "to end as its time is up": ending.us / WORK,
    "to elect, by a resignation": serving.us / (WORK * SERVED_SHARE),
    "to renew while they wait": renewing.us / RENEWALS,
  };
}

/** Those who wait for the one group of an elector. */
class Queue {
  readonly #elected: ElectedGroups;
  readonly #clock: HandClock;
  readonly #size: number;
  #hangUps: AbortController[] = [];
  #answers: Promise<CampaignResult | "gone">[] = [];

  private constructor(elected: ElectedGroups, clock: HandClock, size: number) {
    this.#elected = elected;
    this.#clock = clock;
    this.#size = size;
  }

  static async open(size: number): Promise<Queue> {
    const clock = new HandClock();
    return new Queue(await electedGroups(1, clock, TTL_MS), clock, size);
  }

  async fill(): Promise<void> {
    const { elector } = this.#elected;
    this.#hangUps = [];
    this.#answers = [];
    for (let index = 0; index < this.#size; index++) {
      const hangUp = new AbortController();
      const campaign = { groupId: GROUP, nodeId: `node-${index}`, ttlMs: TTL_MS, waitMs: WAIT_MS };
      const answer = elector.campaign(campaign, { signal: hangUp.signal });
      this.#hangUps.push(hangUp);
      this.#answers.push(answer.catch(() => "gone" as const));
    }
    await this.#clock.settled();
  }

  async renew(times: number): Promise<void> {
    for (let left = times; left > 0; left--) {
      const renewal = { groupId: GROUP, nodeId: "leader", term: 1, ttlMs: TTL_MS };
      const { kind } = await this.#elected.elector.renew(renewal);
      if (kind !== "renewed") throw new Error(`the leader is answered ${kind}`);
    }
  }

  /** Those that came last go first: a list that is searched from its start shows its length. */
  async leave(): Promise<void> {
    for (const hangUp of this.#hangUps.toReversed()) hangUp.abort();
    const answers = await this.#answered();
    if (answers.some((answer) => answer !== "gone")) throw new Error("a campaign outlived its caller");
  }

  async end(): Promise<void> {
    await this.#clock.advance(WAIT_MS);
    const answers = await this.#answered();
    if (answers.some((answer) => answer === "gone" || answer.kind !== "lost")) {
      throw new Error("a campaign whose time was up was not lost");
    }
  }

  /** One leader after the other resigns to the next. */
  async serve(count: number): Promise<void> {
    const { elector } = this.#elected;
    await elector.resign({ groupId: GROUP, nodeId: "leader", term: 1 });
    for (const next of this.#answers.slice(0, count)) {
      const answer = await next;
      if (answer === "gone" || answer.kind !== "elected")
        throw new Error("the first in the queue was passed over");
      const { nodeId, term } = answer.leader;
      await elector.resign({ groupId: GROUP, nodeId, term });
    }
  }

  async close(): Promise<void> {
    await close(this.#elected);
    await this.#answered();
  }

  async #answered(): Promise<readonly (CampaignResult | "gone")[]> {
    const answers = await Promise.all(this.#answers);
    await this.#clock.settled();
    return answers;
  }
}
