/** Each rule of the peers, switched off, and the rules whose absence is harmless. */
import type { Mutant } from "../harness/mutant.js";
import { NO_QUESTION, PROTOCOL_MUTANTS } from "./mutants/protocol-mutants.js";
import { SERVICE_MUTANTS } from "./mutants/service-mutants.js";
import { STEP_MUTANTS } from "./mutants/step-mutants.js";
import { VOTER_MUTANTS } from "./mutants/voter-mutants.js";

export const PEER_MUTANTS: readonly Mutant[] = [
  ...PROTOCOL_MUTANTS,
  ...VOTER_MUTANTS,
  ...STEP_MUTANTS,
  ...SERVICE_MUTANTS,
];

/** Rules whose absence costs no safety: what they hide from the schedules must hold without them. */
export const HARMLESS_MUTANTS: readonly Mutant[] = [
  {
    name: "no-question",
    rule: "a candidate stands back if there is a leader",
    profile: "usual",
    patches: NO_QUESTION,
  },
  {
    // A server leads only when a majority has stored [term, 0], by renewals that were sent after the votes were counted. Those
    // renewals bind the same majority for longer than a deadline that begins at the count.
    name: "deadline-from-the-count",
    rule: "the first deadline of a term counts from before the first vote was asked for",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/candidacy.ts",
        find: 'return { kind: "won", sent };',
        replace: 'return { kind: "won", sent: sendMoment(context.clock) };',
      },
    ],
  },
];
