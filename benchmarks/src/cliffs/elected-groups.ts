import { type Clock, MemoryStore, type Store, StoreElector } from "@tenure/core";

const AT_ONCE = 1000;
/** A prime: steps of it lead to each group once, in no order that a sort could profit from. */
export const STRIDE = 7919;

export function groupAt(index: number): string {
  // Of one length, so that no size has shorter names than another.
  return `group/${String(index).padStart(6, "0")}`;
}

/** The elector of a server, with groups that one node leads. */
export interface ElectedGroups {
  readonly store: Store;
  readonly elector: StoreElector;
}

export async function electedGroups(count: number, clock: Clock, ttlMs: number): Promise<ElectedGroups> {
  const elected = openEmpty(clock);
  for (let from = 0; from < count; from += AT_ONCE) {
    await elect(elected, from, Math.min(from + AT_ONCE, count), count, ttlMs);
  }
  return elected;
}

/**
 * Several electors with so many groups each. They are filled together, so that the groups of one lie as far apart in memory as
 * those of a single large elector do.
 */
export async function electedTogether(
  electors: number,
  count: number,
  clock: Clock,
  ttlMs: number,
): Promise<readonly ElectedGroups[]> {
  const all = Array.from({ length: electors }, () => openEmpty(clock));
  const step = Math.ceil(AT_ONCE / electors);
  for (let from = 0; from < count; from += step) {
    await Promise.all(all.map((each) => elect(each, from, Math.min(from + step, count), count, ttlMs)));
  }
  return all;
}

function openEmpty(clock: Clock): ElectedGroups {
  const store = new MemoryStore();
  return { store, elector: StoreElector.open({ store, clock, keepMembers: true }) };
}

async function elect(
  { elector }: ElectedGroups,
  from: number,
  to: number,
  count: number,
  ttlMs: number,
): Promise<void> {
  const campaigns = [];
  for (let index = from; index < to; index++) {
    const groupId = groupAt((index * STRIDE) % count);
    campaigns.push(elector.campaign({ groupId, nodeId: "leader", ttlMs }));
  }
  await Promise.all(campaigns);
}

export async function close({ elector, store }: ElectedGroups): Promise<void> {
  await elector.close();
  await store.close();
}
