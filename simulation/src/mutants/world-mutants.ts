/**
 * Mutants that show what the worlds exercise: mixed batches, servers that close, members, listings, lasting acts, reasons.
 */
import type { Mutant } from "../harness/mutant.js";

const terms = "core/rules/terms.ts";
const reader = "core/elector/group-reader.ts";
const storeElector = "core/elector/store-elector.ts";

export const WORLD_MUTANTS: readonly Mutant[] = [
  {
    name: "one-outcome-for-all",
    rule: "each operation of a batch has its own outcome",
    patches: [
      {
        file: "core/elector/batcher.ts",
        find: "answer.outcomes[index] ??",
        replace: "answer.outcomes[0] ??",
      },
    ],
    profile: "upgrades",
  },
  {
    name: "closed-without-answers",
    rule: "a server that closes answers those who wait first",
    patches: [
      {
        file: "core/elector/housekeeper.ts",
        find: "refusals.push(this.#campaigns.refuse(group, waiter));",
        replace: "void waiter;",
      },
    ],
    profile: "upgrades",
  },
  {
    name: "renewal-resumes",
    rule: "a pause lasts until its time is over or an operator resumes",
    patches: [
      {
        file: "core/rules/renew.ts",
        find: "const next = { ...now, holder,",
        replace: "const next = { ...now, pause: null, holder,",
      },
    ],
  },
  {
    name: "election-drops-policy",
    rule: "a group keeps its policy when it elects",
    patches: [
      {
        file: terms,
        find: "withEvent({ ...vacant, term, holder,",
        replace: "withEvent({ ...vacant, config: null, term, holder,",
      },
    ],
  },
  {
    name: "deposed-forgotten",
    rule: "the term of a deposed leader ends as deposed, however it ends",
    patches: [
      {
        file: terms,
        find: 'const reason = now.deposed === null ? how : "deposed";',
        replace: "const reason = how;",
      },
    ],
  },
  {
    name: "transferred-to-nobody",
    rule: "a term ends as transferred only where a successor waits",
    patches: [
      {
        file: "core/rules/resign.ts",
        find: 'now.transfer?.ready === true ? "transferred"',
        replace: 'now.transfer !== null ? "transferred"',
      },
    ],
    profile: "operator",
  },
  {
    name: "reason-left-out",
    rule: "an election says how the last term ended",
    patches: [{ file: terms, find: 'reason: vacant.ended?.reason ?? "none",', replace: 'reason: "none",' }],
  },
  {
    name: "heartbeat-unsigned",
    rule: "who sends a heartbeat is a member",
    patches: [
      {
        file: storeElector,
        find: "this.#engine.members?.sign(groupId, { nodeId, isCandidate: false, metadata, ready });",
        replace: "",
      },
    ],
    profile: "members",
  },
  {
    name: "listing-skips-one",
    rule: "pages of groups leave nothing out",
    patches: [
      {
        file: reader,
        find: "return { groups: page, cursor: page.at(-1)?.groupId ?? null };",
        replace: "return { groups: page, cursor: groupId };",
      },
    ],
    profile: "members",
  },
  {
    name: "deleted-are-listed",
    rule: "a deleted group is not listed",
    patches: [{ file: reader, find: "isUnreadable || record.deleted ||", replace: "isUnreadable ||" }],
    profile: "members",
  },
  {
    name: "everybody-is-allowed",
    rule: "only allowed nodes lead",
    patches: [
      {
        file: "core/rules/eligibility.ts",
        find: "return allowed === null || allowed.includes(nodeId);",
        replace: "return allowed !== undefined;",
      },
    ],
    profile: "members",
  },
];
