/**
 * Each rule, switched off. A mutant is a patch of the built core, so that the product itself has no such switches; every
 * one of them must be caught by a checker, or the simulation proves nothing about its rule.
 */
export interface Patch {
  /** In packages/core/dist. */
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
}
