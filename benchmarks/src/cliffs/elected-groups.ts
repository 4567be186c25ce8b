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
  const store = new MemoryStore();
  const elector = StoreElector.open({ store, clock, keepMembers: true });
  for (let from = 0; from < count; from += AT_ONCE) {
    const campaigns = [];
    for (let index = from; index < Math.min(from + AT_ONCE, count); index++) {
      const groupId = groupAt((index * STRIDE) % count);
      campaigns.push(elector.campaign({ groupId, nodeId: "leader", ttlMs }));
    }
    await Promise.all(campaigns);
  }
  return { store, elector };
}

export async function close({ elector, store }: ElectedGroups): Promise<void> {
  await elector.close();
  await store.close();
}
