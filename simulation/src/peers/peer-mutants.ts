/** Each rule of the peers, switched off in the built code, and the rules whose absence is harmless. */
import type { PeerMutant } from "./mutants/peer-mutant.js";
import { NO_QUESTION, PROTOCOL_MUTANTS } from "./mutants/protocol-mutants.js";
import { SERVICE_MUTANTS } from "./mutants/service-mutants.js";
import { STEP_MUTANTS } from "./mutants/step-mutants.js";
import { VOTER_MUTANTS } from "./mutants/voter-mutants.js";

export type { PeerMutant } from "./mutants/peer-mutant.js";

export const PEER_MUTANTS: readonly PeerMutant[] = [
  ...PROTOCOL_MUTANTS,
  ...VOTER_MUTANTS,
  ...STEP_MUTANTS,
  ...SERVICE_MUTANTS,
];

/** Rules whose absence costs no safety: what they hide from the schedules must hold without them. */
export const HARMLESS_MUTANTS: readonly PeerMutant[] = [
  {
    name: "no-question",
    rule: "a candidate stands back where somebody leads",
    profile: "usual",
    patches: NO_QUESTION,
  },
];

export function peerMutantNamed(name: string): PeerMutant {
  const mutant = [...PEER_MUTANTS, ...HARMLESS_MUTANTS].find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`no mutant ${name}; --list shows them`);
  return mutant;
}
