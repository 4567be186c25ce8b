import type { Patch } from "./patch.js";

/**
 * A rule, switched off. A mutant is a patch of the sources, so that the product itself has no such switches; every mutant must
 * be caught by a checker, or the simulation proves nothing about its rule.
 */
export interface Mutant {
  readonly name: string;
  readonly rule: string;
  readonly patches: readonly Patch[];
  /** The world in which it shows soonest. */
  readonly profile?: string;
  /** For peers: the rule is for something that must happen in the end. Any other rule is for something that must never happen. */
  readonly breaks?: "liveness";
}
