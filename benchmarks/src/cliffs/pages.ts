/** Pages of groups: what each costs among few and among many groups. */
import type { StoreElector } from "@tenure/core";
import type { Cliff, Figures } from "./cliff.js";
import { collectGarbage, CpuTime } from "./cpu-time.js";
import { electedGroups, groupAt, STRIDE } from "./elected-groups.js";
import { HandClock } from "./hand-clock.js";

const SIZES = [1000, 100_000] as const;
const LIMIT = 100;
/** Pages in a round: of all in order, as many as the many groups have. */
const LISTED = 1000;
const SINGLE = 300;
/** Fewer, since each adds a group that stays. */
const ADDED = 100;
const TTL_MS = 60_000;

export const pages: Cliff = {
  name: "pages",
  of: `page of ${LIMIT} groups`,
  sizes: SIZES,
  async open(size) {
    const { elector } = await electedGroups(size, new HandClock(), TTL_MS);
    let rounds = 0;
    return { round: () => round(elector, size, rounds++) };
  },
};

async function round(elector: StoreElector, size: number, index: number): Promise<Figures> {
  collectGarbage();
  const single = new CpuTime();
  await single.of(async () => {
    for (let page = 0; page < SINGLE; page++) {
      // A place further on each time, with as many groups behind it as a page has.
      const after = (page * STRIDE) % (size - LIMIT);
      const { groups } = await elector.groups({ limit: LIMIT, cursor: groupAt(after) });
      if (groups.length !== LIMIT || groups[0]?.groupId !== groupAt(after + 1))
        throw new Error("a wrong page");
    }
  });
  const listed = new CpuTime();
  const pagesOfAll = size / LIMIT;
  await listed.of(async () => {
    for (let done = 0; done < LISTED; done += pagesOfAll) await listAll(elector, size);
  });
  const fresh = new CpuTime();
  for (let added = 0; added < ADDED; added++) {
    // After all others, so that pages stay what they were.
    const groupId = `new/${index}/${added}`;
    await elector.campaign({ groupId, nodeId: "leader", ttlMs: TTL_MS });
    await fresh.of(async () => void (await elector.groups({ limit: LIMIT })));
  }
  return {
    "at any place": single.us / SINGLE,
    "of all pages in order": listed.us / LISTED,
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
