import { type Copies, loadCopy } from "../harness/mutant-loader.js";
import type { Mutant } from "../harness/mutant.js";

/** The code under test, as a value: the built parts of a node, or a copy of them in which one rule is switched off. */
export type PeerModule = typeof import("@tenure/peers/parts");

/** Over the core as it is. */
const COPIES: Copies<{ readonly parts: PeerModule }> = {
  packages: ["peers"],
  modules: { parts: "@tenure/peers/parts" },
};

export async function loadPeers(mutant?: Mutant): Promise<PeerModule> {
  return mutant === undefined ? import("@tenure/peers/parts") : (await loadCopy(COPIES, mutant)).parts;
}
