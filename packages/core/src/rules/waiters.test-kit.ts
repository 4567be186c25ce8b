import type { Holder } from "../record.js";
import type { Successors } from "./operate.js";
import type { Waiters, WaitingCampaign } from "./upkeep.js";

/** A waiting campaign, without its place in the queue. */
export type Arrival = Omit<WaitingCampaign, "order">;

export function cold(candidate: Holder): Arrival {
  return { candidate, ready: false };
}

/** Waiting campaigns in order of arrival, searched linearly. A bare candidate is ready. */
export function waitersOf(
  arrivals: readonly (Holder | Arrival)[],
  departed: string | null = null,
): Waiters<WaitingCampaign> {
  const all = arrivals.map((each, order) => ({
    ...("candidate" in each ? each : { candidate: each, ready: true }),
    order,
  }));
  return {
    size: all.length,
    departed,
    of: (nodeId) => all.filter(({ candidate }) => candidate.nodeId === nodeId),
    first: (strategy, mayWin) => {
      const free = all.filter(({ candidate }) => mayWin(candidate.nodeId));
      if (strategy === "priority") free.sort((a, b) => b.candidate.priority - a.candidate.priority);
      return free.find(({ ready }) => ready) ?? free[0] ?? null;
    },
  };
}

/** Candidates known to a server, the best first. `null`: nothing is known of any node. */
export function successors(known: readonly { nodeId: string; ready: boolean }[] | null): Successors {
  return {
    of: (nodeId) => {
      if (known === null) return "unknown";
      const found = known.find((each) => each.nodeId === nodeId);
      return found === undefined ? "absent" : found.ready ? "ready" : "cold";
    },
    best: (_, mayWin) => known?.find(({ nodeId }) => mayWin(nodeId)) ?? null,
  };
}
