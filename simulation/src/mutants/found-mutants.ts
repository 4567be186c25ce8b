/** Mutants that bring back defects which were in the core once, so that none of them comes back unnoticed. */
import type { Mutant } from "../harness/mutant.js";

const engine = "core/elector/engine.ts";
const upkeep = "core/rules/upkeep.ts";

const ALL_TTLS = "...[...this.groups.values()].map((each) => each.record.holder?.ttlMs)";

export const FOUND_MUTANTS: readonly Mutant[] = [
  {
    name: "waited-read-again",
    rule: "a decision and its answer see one reading of the clock",
    patches: [
      {
        file: "core/elector/campaigns.ts",
        find: "const elected = electedAt(now, waiter, change);",
        replace: "const elected = electedAt(this.#engine.now(), waiter, change);",
      },
    ],
    profile: "stops",
  },
  {
    name: "one-limit-for-all",
    rule: "a short lease limits the calls to the store of its own group only",
    patches: [
      {
        file: engine,
        find: "callMs = callLimitMs(group.record.holder?.ttlMs, change.next.holder?.ttlMs);",
        replace: `callMs = callLimitMs(${ALL_TTLS});`,
      },
    ],
    profile: "slow",
  },
  {
    name: "reserved-for-the-gone",
    rule: "nothing is reserved for a successor that is known to be gone",
    patches: [
      {
        file: upkeep,
        find: "if (vacant.transfer !== null && vacant.transfer.toNodeId === waiters.departed)",
        replace: "if (false)",
      },
      {
        file: upkeep,
        find: "if (transfer?.ready === true && transfer.toNodeId === waiters.departed)",
        replace: "if (false)",
      },
    ],
    profile: "preempt",
  },
  {
    name: "logged-before-its-entry",
    rule: "a watch over all groups shows a write when the feed brings it",
    patches: [
      {
        file: engine,
        find: "this.log.take(group, recordOf(group, entry), entry.revision);",
        replace: "this.log.take(group, group.record, entry.revision);",
      },
    ],
    profile: "watch-all",
  },
  {
    name: "cursor-past-a-hole",
    rule: "a cursor of all groups stands only where nothing below it is still to come",
    patches: [
      {
        file: "core/elector/event-log.ts",
        find: "if (this.#held.some((entry) => entry.revision > revision))",
        replace: "if (false)",
      },
    ],
    profile: "watch-all",
  },
  {
    name: "refused-are-members",
    rule: "only a campaign that was admitted makes a member",
    patches: [
      {
        file: "core/elector/store-elector.ts",
        find: "return this.#engine.with(groupId, async (group) => { if (contender.waits)",
        replace:
          "return this.#engine.with(groupId, async (group) => { this.#engine.members?.sign(groupId, contender.sign); if (contender.waits)",
      },
    ],
    profile: "members",
  },
  {
    name: "newer-members-overwritten",
    rule: "a page of members of a newer format is left as it is",
    patches: [
      {
        file: "core/elector/member-book.ts",
        find: 'page.isNewer = read.kind === "newer";',
        replace: "page.isNewer = false;",
      },
    ],
    profile: "versions",
  },
  {
    name: "members-break-the-feed",
    rule: "a page of members that cannot be read concerns nothing else",
    patches: [
      {
        file: "core/elector/member-book.ts",
        find: "const read = decodeMembers(value);",
        replace:
          'const read = decodeMembers(value); if (read.kind !== "members") throw new Error("unreadable");',
      },
    ],
    profile: "versions",
  },
  {
    name: "unreadable-waits-go-on",
    rule: "waits end in time, also while an entry of their group cannot be read",
    patches: [
      {
        file: "core/elector/housekeeper.ts",
        find: "if (this.#closed) return; const now",
        replace: "if (this.#closed || group.isUnreadable) return; const now",
      },
    ],
    profile: "versions",
  },
  {
    name: "newer-history-overwritten",
    rule: "a history that cannot be read is left as it is",
    patches: [
      {
        file: "core/elector/history-keeper.ts",
        find: "const record = group.current();",
        replace: "const { record } = group;",
      },
    ],
    profile: "versions",
  },
  {
    name: "silent-feed-unnoticed",
    rule: "a feed that is silent though the store has more is replaced",
    patches: [
      {
        file: "core/elector/feed-follower.ts",
        find: "if (silentMs < this.#silenceMs) return this.#checkAfter(this.#silenceMs - silentMs);",
        replace: "return;",
      },
    ],
    profile: "silence",
  },
  {
    name: "transfer-by-the-present-leader",
    rule: "a transfer is done if its successor was elected, also if it is gone again",
    patches: [
      {
        file: "core/rules/operate.ts",
        find: "if (now.term > fromTerm) { const elected = leaderOfTerm(now, fromTerm + 1, history);",
        replace: "if (now.holder !== null && now.term > fromTerm) { const elected = now.holder.nodeId;",
      },
    ],
    profile: "handovers",
  },
  {
    name: "struck-leader-stays",
    rule: "a leader that is no longer allowed is deposed",
    patches: [
      {
        file: "core/rules/configure.ts",
        find: "if (holder !== null && !isAllowed(next, holder.nodeId))",
        replace: "if (false)",
      },
    ],
    profile: "members",
  },
];
