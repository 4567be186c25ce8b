/** A queue of campaigns that wait for one group: what each of them costs, and what a renewal costs while they wait. */
import type { CampaignResult, StoreElector } from "@tenure/core";
import type { Cliff, Figures } from "./cliff.js";
import { collectGarbage, CpuTime } from "./cpu-time.js";
import { close, electedGroups, groupAt } from "./elected-groups.js";
import { HandClock } from "./hand-clock.js";

const SIZES = [100, 1000, 10_000] as const;
/** Waiters in a round, in one queue or one after the other in several. */
const WORK = 10_000;
const RENEWALS = 1000;
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
  const queues = WORK / size;
  collectGarbage();
  for (let count = 0; count < queues; count++) {
    const clock = new HandClock();
    const elected = await electedGroups(1, clock, TTL_MS);
    const { elector } = elected;
    const gone = new Queue(elector, clock, size);
    await queueing.of(() => gone.fill());
    await renewing.of(() => renew(elector, RENEWALS / queues));
    await leaving.of(() => gone.leave());
    const late = new Queue(elector, clock, size);
    await late.fill();
    await ending.of(() => late.end());
    const served = new Queue(elector, clock, size);
    await served.fill();
    await serving.of(() => served.serve(size * SERVED_SHARE));
    await close(elected);
    await served.answered();
  }
  return {
    "to queue": queueing.us / WORK,
    "to leave as the caller hangs up": leaving.us / WORK,
    "to end as its time is up": ending.us / WORK,
    "to elect, by a resignation": serving.us / (WORK * SERVED_SHARE),
    "to renew while they wait": renewing.us / RENEWALS,
  };
}

async function renew(elector: StoreElector, times: number): Promise<void> {
  for (let left = times; left > 0; left--) {
    const { kind } = await elector.renew({ groupId: GROUP, nodeId: "leader", term: 1, ttlMs: TTL_MS });
    if (kind !== "renewed") throw new Error(`the leader is answered ${kind}`);
  }
}

class Queue {
  readonly #elector: StoreElector;
  readonly #clock: HandClock;
  readonly #size: number;
  readonly #hangUps: AbortController[] = [];
  readonly #answers: Promise<CampaignResult | "gone">[] = [];

  constructor(elector: StoreElector, clock: HandClock, size: number) {
    this.#elector = elector;
    this.#clock = clock;
    this.#size = size;
  }

  async fill(): Promise<void> {
    for (let index = 0; index < this.#size; index++) {
      const hangUp = new AbortController();
      const campaign = { groupId: GROUP, nodeId: `node-${index}`, ttlMs: TTL_MS, waitMs: WAIT_MS };
      const answer = this.#elector.campaign(campaign, { signal: hangUp.signal });
      this.#hangUps.push(hangUp);
      this.#answers.push(answer.catch(() => "gone" as const));
    }
    await this.#clock.settled();
  }

  /** Those that came last go first: a list that is searched from its start shows its length. */
  async leave(): Promise<void> {
    for (const hangUp of this.#hangUps.toReversed()) hangUp.abort();
    const answers = await this.answered();
    if (answers.some((answer) => answer !== "gone")) throw new Error("a campaign outlived its caller");
  }

  async end(): Promise<void> {
    await this.#clock.advance(WAIT_MS);
    const answers = await this.answered();
    if (answers.some((answer) => answer === "gone" || answer.kind !== "lost")) {
      throw new Error("a campaign whose time was up was not lost");
    }
  }

  /** One leader after the other resigns to the next. */
  async serve(count: number): Promise<void> {
    await this.#elector.resign({ groupId: GROUP, nodeId: "leader", term: 1 });
    for (const next of this.#answers.slice(0, count)) {
      const answer = await next;
      if (answer === "gone" || answer.kind !== "elected")
        throw new Error("the first in the queue was passed over");
      const { nodeId, term } = answer.leader;
      await this.#elector.resign({ groupId: GROUP, nodeId, term });
    }
  }

  async answered(): Promise<readonly (CampaignResult | "gone")[]> {
    const answers = await Promise.all(this.#answers);
    await this.#clock.settled();
    return answers;
  }
}
