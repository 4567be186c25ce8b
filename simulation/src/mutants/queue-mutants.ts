/** Mutants of the rules on who is next: the queue, its order, successors and callers that are gone. */
import type { Mutant } from "../harness/mutant.js";

const upkeep = "core/rules/upkeep.ts";

export const QUEUE_MUTANTS: readonly Mutant[] = [
  {
    name: "queue-backwards",
    rule: "who came first is served first",
    patches: [{ file: upkeep, find: "return a.order < b.order;", replace: "return a.order > b.order;" }],
  },
  {
    name: "lowest-priority-first",
    rule: "the highest priority is served first",
    patches: [
      {
        file: upkeep,
        find: "return a.candidate.priority > b.candidate.priority;",
        replace: "return a.candidate.priority < b.candidate.priority;",
      },
    ],
  },
  {
    name: "strategy-ignored",
    rule: "priorities count only where the policy says so, and there they do",
    patches: [{ file: upkeep, find: 'if (strategy === "priority" &&', replace: "if (false &&" }],
  },
  {
    name: "newcomer-overtakes",
    rule: "a newcomer does not overtake the queue",
    patches: [
      {
        file: "core/elector/campaigns.ts",
        find: "const best = () => overtaken(seen, group.waiters, contender, stampOf(now));",
        replace: "const best = () => null;",
      },
    ],
    profile: "stops",
  },
  {
    name: "no-take-back",
    rule: "what a vanished caller has won is taken back",
    patches: [
      {
        file: "core/elector/campaigns.ts",
        find: "#takeBack(group: GroupState, revision: Revision): void {",
        replace: "#takeBack(group, revision) { if (group !== null) return;",
      },
    ],
    profile: "slow",
  },
  {
    name: "transfer-never-ready",
    rule: "the leader is asked to yield to a successor that waits",
    patches: [
      {
        file: upkeep,
        find: "if (transfer?.ready === false && waiters",
        replace: "if (false && waiters",
      },
    ],
    profile: "operator",
  },
  {
    name: "no-preemption",
    rule: "where the policy says so, a waiting candidate of higher priority takes over",
    patches: [{ file: upkeep, find: "if (!policyOf(now).preempt ||", replace: "if (true ||" }],
    profile: "preempt",
  },
  {
    name: "cold-first",
    rule: "a ready candidate is served before a cold one",
    patches: [{ file: upkeep, find: "return a.ready;", replace: "return b.ready;" }],
    profile: "standby",
  },
  {
    name: "readiness-ignored",
    rule: "a ready candidate is served before a cold one, whatever their priorities and who came first",
    patches: [{ file: upkeep, find: "if (a.ready !== b.ready)", replace: "if (false)" }],
    profile: "standby",
  },
  {
    name: "preempts-for-cold",
    rule: "a leader is not asked to yield to a challenger that is cold",
    patches: [
      {
        file: upkeep,
        find: "if (highest === null || !highest.ready)",
        replace: "if (highest === null)",
      },
    ],
    profile: "standby",
  },
  {
    name: "transfer-ignores-readiness",
    rule: "a leader is not asked to yield to the successor of a transfer that is cold, unless that was allowed",
    patches: [{ file: upkeep, find: "return ready || allowCold === true;", replace: "return true;" }],
    profile: "standby",
  },
  {
    name: "transfer-to-cold",
    rule: "a transfer to a node that waits and is cold is refused, unless that was allowed",
    patches: [
      { file: "core/rules/operate.ts", find: "if (chosen.isCold && !allowCold)", replace: "if (false)" },
    ],
    profile: "standby",
  },
];
