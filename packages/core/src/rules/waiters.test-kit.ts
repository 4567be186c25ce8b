import type { Holder } from "../record.js";
import type { Waiters, Waiting } from "./attend.js";

/** Campaigns that wait, in order of arrival, asked in the simplest way: look through all of them. */
export function waitersOf(candidates: readonly Holder[], departed: string | null = null): Waiters<Waiting> {
  const all = candidates.map((candidate, order) => ({ candidate, order }));
  return {
    size: all.length,
    departed,
    of: (nodeId) => all.filter(({ candidate }) => candidate.nodeId === nodeId),
    first: (strategy, mayWin) => {
      const free = all.filter(({ candidate }) => mayWin(candidate.nodeId));
      if (strategy === "priority") free.sort((a, b) => b.candidate.priority - a.candidate.priority);
      return free[0] ?? null;
    },
  };
}
