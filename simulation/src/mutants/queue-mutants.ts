/** Mutants of the rules on who is next: the queue, its order, successors and callers that are gone. */
import type { Mutant } from "./mutant.js";

const attend = "rules/attend.js";

export const QUEUE_MUTANTS: readonly Mutant[] = [
  {
    name: "queue-backwards",
    rule: "who came first is served first",
    patches: [{ file: attend, find: "return a.order < b.order;", replace: "return a.order > b.order;" }],
  },
  {
    name: "lowest-priority-first",
    rule: "the highest priority is served first",
    patches: [
      {
        file: attend,
        find: "return a.candidate.priority > b.candidate.priority;",
        replace: "return a.candidate.priority < b.candidate.priority;",
      },
    ],
  },
  {
    name: "strategy-ignored",
    rule: "priorities count only where the policy says so, and there they do",
    patches: [{ file: attend, find: 'if (strategy === "priority" &&', replace: "if (false &&" }],
  },
  {
    name: "newcomer-overtakes",
    rule: "a newcomer does not overtake the queue",
    patches: [
      {
        file: "elector/campaigns.js",
        find: "const waiter = overtaken(seen, group.waiters, contender, stampOf(now));",
        replace: "const waiter = null;",
      },
    ],
    profile: "stops",
  },
  {
    name: "no-take-back",
    rule: "what a vanished caller has won is taken back",
    patches: [
      {
        file: "elector/campaigns.js",
        find: "    #takeBack(group, revision) {",
        replace: "    #takeBack(group, revision) {\n        if (group !== null) return;",
      },
    ],
    profile: "slow",
  },
  {
    name: "transfer-never-ready",
    rule: "the leader is told of a successor that waits",
    patches: [
      {
        file: attend,
        find: "if (transfer?.ready === false && waiters",
        replace: "if (false && waiters",
      },
    ],
    profile: "operator",
  },
  {
    name: "no-preemption",
    rule: "where the policy says so, a waiting candidate of higher priority takes over",
    patches: [{ file: attend, find: "if (!policyOf(now).preempt ||", replace: "if (true ||" }],
    profile: "preempt",
  },
];
