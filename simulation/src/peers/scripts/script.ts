import type { PeerModule } from "../peer-module.js";
import { TTL_MS } from "../sim-peer.js";
import { Stage, type StageOptions } from "../stage.js";

export interface Script {
  readonly mutant: string;
  readonly story: string;
  run(modules: PeerModule, print?: (line: string) => void): Promise<Stage>;
}

/** Longer than a voter holds a lease. */
export const A_LEASE_MS: number = 1.05 * TTL_MS;
/** Long enough to ask, to be elected and to take the first step. */
export const AN_ELECTION_MS = 80;

type Play = (stage: Stage) => Promise<void>;

/** `founders` have founded the cluster, and `later` run, when the play begins. */
export function script(mutant: string, story: string, founders: string, later: string, play: Play): Script {
  return unfounded(mutant, story, { founders, later }, async (stage) => {
    await stage.found(founders);
    stage.start(later);
    await play(stage);
  });
}

/** No server runs when the script begins. */
export function unfounded(mutant: string, story: string, options: StageOptions, play: Play): Script {
  return {
    mutant,
    story,
    async run(modules, print) {
      const stage = new Stage(modules, { ...options, print });
      await play(stage);
      return stage;
    },
  };
}
