/**
 * Each rule, switched off. A mutant is a patch of the built core or client, so that the product itself has no such switches;
 * every one of them must be caught by a checker, or the simulation proves nothing about its rule.
 */
export interface Patch {
  /** `core` by default. */
  readonly package?: "core" | "client";
  /** In the dist folder of that package. */
  readonly file: string;
  /** Occurs exactly once, or the mutant is refused: it must never be the original unnoticed. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  readonly rule: string;
  readonly patches: readonly Patch[];
  /** The world in which it shows soonest. */
  readonly profile?: string;
  /** For peers: the rule is for something that must happen in the end. Any other rule is for something that must never happen. */
  readonly breaks?: "liveness";
}
