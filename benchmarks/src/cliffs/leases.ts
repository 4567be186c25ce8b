/** Leases that end together, as after a failure of a network: what each costs, and how long a turn of the event loop is. */
import type { StoreElector } from "@tenure/core";
import { type Cliff, collectGarbage, CpuTime, type Figures } from "./cliff.js";
import { close, type ElectedGroups, electedGroups, groupAt } from "./elected-groups.js";
import { HandClock } from "./hand-clock.js";

const SIZES = [1000, 50_000] as const;
/** Leases in all. */
const WORK = 50_000;
const TTL_MS = 10_000;
/** More than a server holds the lease, less than a candidate waits. */
const OVER_MS = 11_000;
const WAIT_MS = 30_000;

const SUCCESSOR = "successor";

export const leases: Cliff = {
  name: "leases",
  of: "lease that ends with all others",
  sizes: SIZES,
  open: async (size) => ({ round: () => round(size) }),
};

async function round(size: number): Promise<Figures> {
  const followed = new CpuTime();
  const vacated = new CpuTime();
  const all: Contested[] = [];
  for (let leased = 0; leased < WORK; leased += size) all.push(await contest(size));
  collectGarbage();
  for (const { clock, answers } of all) {
    await followed.of(() => clock.advance(OVER_MS));
    await Promise.all(answers);
  }
  for (const { elected } of all) await expectLeader(elected.elector, size, SUCCESSOR);
  collectGarbage();
  for (const { clock } of all) await vacated.of(() => clock.advance(OVER_MS));
  for (const { elected } of all) {
    await expectLeader(elected.elector, size, null);
    await close(elected);
  }
  return {
    "to end, no candidate waits": vacated.us / WORK,
    "to end, a candidate waits": followed.us / WORK,
    "longest turn, no candidate waits": vacated.longestTurnUs,
    "longest turn, a candidate waits": followed.longestTurnUs,
  };
}

/** Led groups of one elector, and a candidate that waits for each. */
interface Contested {
  readonly clock: HandClock;
  readonly elected: ElectedGroups;
  readonly answers: readonly Promise<unknown>[];
}

async function contest(size: number): Promise<Contested> {
  const clock = new HandClock();
  const elected = await electedGroups(size, clock, TTL_MS);
  const answers = Array.from({ length: size }, (_, index) => {
    const candidate = { groupId: groupAt(index), nodeId: SUCCESSOR, ttlMs: TTL_MS, waitMs: WAIT_MS };
    return elected.elector.campaign(candidate);
  });
  await clock.settled();
  return { clock, elected, answers };
}

async function expectLeader(elector: StoreElector, size: number, nodeId: string | null): Promise<void> {
  for (const index of [0, size >> 1, size - 1]) {
    const { leader } = await elector.leader(groupAt(index));
    if ((leader?.nodeId ?? null) !== nodeId) throw new Error(`${groupAt(index)} is led by ${leader?.nodeId}`);
  }
}
