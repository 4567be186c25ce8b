/** The scenarios of core, in `simulation/scenarios/core`: real electors over a store. */
import { ELECTOR_VOCABULARY } from "./elector-commands.js";
import { type ElectorModule, loadElector } from "./elector-module.js";
import { ElectorStage } from "./elector-stage.js";
import type { ScenarioWorld } from "./scenario-world.js";

export const ELECTOR_SCENARIOS: ScenarioWorld<ElectorStage, ElectorModule> = {
  folder: "core",
  vocabulary: ELECTOR_VOCABULARY,
  load: loadElector,
  open: (modules, _scenario, print) => new ElectorStage(modules, print),
};
