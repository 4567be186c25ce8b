/**
 * The candidates of a group that a transfer may go to: the campaigns that wait at this server, which it knows for certain,
 * and the members that campaigned at other servers not long ago. Only the server where a campaign waits makes the mark of a
 * transfer ready, so what is out of date here costs a refusal or the limit of the transfer, and never a wrong leader.
 */
import type { Successors } from "../rules/operate.js";
import type { GroupState } from "./group-state.js";
import type { MemberBook } from "./member-book.js";

/** Without `members` nothing is known of other servers. `absent` are nodes that were found to wait nowhere. */
export function successorsOf(
  group: GroupState,
  members: Pick<MemberBook, "members"> | null,
  absent: ReadonlySet<string>,
): Successors {
  const candidates = () => members?.members(group.groupId).filter(({ isCandidate }) => isCandidate) ?? [];
  return {
    of: (nodeId) => {
      const here = group.waiters.of(nodeId);
      if (here.length > 0) return here.some(({ ready }) => ready) ? "ready" : "cold";
      if (members === null) return "unknown";
      const elsewhere = candidates().find((each) => each.nodeId === nodeId);
      if (elsewhere === undefined) return "absent";
      return elsewhere.ready === false ? "cold" : "ready";
    },
    best: (strategy, mayWin) => {
      const here = group.waiters.first(strategy, mayWin);
      const waits = here === null ? [] : [{ nodeId: here.candidate.nodeId, ready: here.ready }];
      // For candidates at other servers neither priority nor arrival is known. The one seen last is the most likely to
      // be there.
      const elsewhere = candidates()
        .filter(({ nodeId }) => mayWin(nodeId) && !absent.has(nodeId))
        .filter(({ nodeId }) => group.waiters.of(nodeId).length === 0)
        .sort((a, b) => b.lastSignMs - a.lastSignMs)
        .map(({ nodeId, ready }) => ({ nodeId, ready: ready !== false }));
      const all = [...waits, ...elsewhere];
      return all.find(({ ready }) => ready) ?? all[0] ?? null;
    },
  };
}
