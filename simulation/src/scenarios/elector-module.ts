import type { CoreModule } from "../core-module.js";
import { type Copies, loadCopy } from "../harness/mutant-loader.js";
import type { Mutant } from "../harness/mutant.js";

/** The code that the scenarios of core run: the built package, or a copy of it in which one rule is switched off. */
export type ElectorModule = Pick<CoreModule, "core" | "internal" | "testing">;

const COPIES: Copies<ElectorModule> = {
  packages: ["core"],
  modules: { core: "@tenure/core", internal: "@tenure/core/internal", testing: "@tenure/core/testing" },
};

/** By the name of the mutant: several scenarios guard the same rule. */
const copies = new Map<string, Promise<ElectorModule>>();

export async function loadElector(mutant?: Mutant): Promise<ElectorModule> {
  if (mutant !== undefined) {
    const copy = copies.get(mutant.name) ?? loadCopy(COPIES, mutant);
    copies.set(mutant.name, copy);
    return copy;
  }
  return {
    core: await import("@tenure/core"),
    internal: await import("@tenure/core/internal"),
    testing: await import("@tenure/core/testing"),
  };
}
