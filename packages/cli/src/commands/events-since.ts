import type { ElectorAdmin, Group, LeadershipEvent } from "@tenure/core";

export type PastEvent = LeadershipEvent & { readonly groupId: string };

const AT_ONCE = 8;

/** The kept events of these groups since a point in time, oldest first. */
export async function eventsSince(
  elector: ElectorAdmin,
  groups: readonly Group[],
  sinceMs: number,
  signal: AbortSignal,
): Promise<PastEvent[]> {
  const found: PastEvent[] = [];
  const queue = groups.map(({ groupId }) => groupId);
  const drain = async (): Promise<void> => {
    for (let groupId = queue.shift(); groupId !== undefined; groupId = queue.shift()) {
      const id = groupId;
      const { events } = await elector.history(id, { signal });
      found.push(...events.filter(({ tsMs }) => tsMs >= sinceMs).map((event) => ({ ...event, groupId: id })));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
  return found.sort((a, b) => a.tsMs - b.tsMs || a.term - b.term || a.number - b.number);
}
