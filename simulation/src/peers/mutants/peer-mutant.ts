import type { Mutant } from "../../mutants/mutant.js";

/** A mutant that breaks what must come in the end is caught by that; any other must do something that is forbidden. */
export interface PeerMutant extends Mutant {
  readonly breaks?: "liveness";
  /** A seed near which it is caught; tests hunt from there. 1 by default. */
  readonly seed?: number;
}
