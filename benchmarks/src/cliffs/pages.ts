/** Pages of groups: what each costs among few and among many groups. */
import type { StoreElector } from "@tenure/core";
import { type Cliff, collectGarbage, CpuTime, type Figures } from "./cliff.js";
import { electedTogether, groupAt, STRIDE } from "./elected-groups.js";
import { HandClock } from "./hand-clock.js";

const SIZES = [1000, 100_000] as const;
const LIMIT = 100;
/** Groups in all. */
const GROUPS = 100_000;
/** Pages in a round, besides those of all groups. */
const SINGLE = 1000;
/** Fewer, since each adds a group that stays. */
const ADDED = 200;
const TTL_MS = 60_000;

export const pages: Cliff = {
  name: "pages",
  of: `page of ${LIMIT} groups`,
  sizes: SIZES,
  async open(size) {
    const elected = await electedTogether(GROUPS / size, size, new HandClock(), TTL_MS);
    const electors = elected.map(({ elector }) => elector);
    let rounds = 0;
    return { round: () => round(electors, size, rounds++) };
  },
};

async function round(electors: readonly StoreElector[], size: number, index: number): Promise<Figures> {
  const electorAt = (turn: number) => electors[turn % electors.length] as StoreElector;
  collectGarbage();
  const single = new CpuTime();
  await single.of(async () => {
    for (let page = 0; page < SINGLE; page++) {
      // Another place each time, with as many groups behind it as a page has.
      const after = (page * STRIDE) % (size - LIMIT);
      const { groups } = await electorAt(page).groups({ limit: LIMIT, cursor: groupAt(after) });
      if (groups.length !== LIMIT || groups[0]?.groupId !== groupAt(after + 1))
        throw new Error("a wrong page");
    }
  });
  collectGarbage();
  const listed = new CpuTime();
  await listed.of(async () => {
    for (const elector of electors) await listAll(elector, size);
  });
  collectGarbage();
  const fresh = new CpuTime();
  for (let added = 0; added < ADDED; added++) {
    // After all others, so that pages stay what they were.
    const groupId = `new/${index}/${added}`;
    const elector = electorAt(added);
    await elector.campaign({ groupId, nodeId: "leader", ttlMs: TTL_MS });
    await fresh.of(async () => void (await elector.groups({ limit: LIMIT })));
  }
  return {
    "at any place": single.us / SINGLE,
    "of all pages in order": listed.us / (GROUPS / LIMIT),
    "after a new group": fresh.us / ADDED,
  };
}

/** By the prefix that all have but the added ones. */
async function listAll(elector: StoreElector, size: number): Promise<void> {
  let found = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<StoreElector["groups"]>> = await elector.groups({
      prefix: "group/",
      limit: LIMIT,
      cursor: cursor ?? undefined,
    });
    found += page.groups.length;
    cursor = page.cursor;
  } while (cursor !== null);
  if (found !== size) throw new Error(`${found} of ${size} groups are listed`);
}
