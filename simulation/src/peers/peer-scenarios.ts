/** The scenarios of peers, in `simulation/scenarios/peers`: the product's own peer, voter and services. */
import type { Scenario } from "../scenarios/scenario.js";
import type { ScenarioWorld } from "../scenarios/scenario-world.js";
import { loadPeers, type PeerModule } from "./peer-module.js";
import { Stage } from "./stage.js";
import { PEER_VOCABULARY } from "./stage-commands.js";

export const PEER_SCENARIOS: ScenarioWorld<Stage, PeerModule> = {
  folder: "peers",
  vocabulary: PEER_VOCABULARY,
  load: loadPeers,
  open: (modules, scenario, print) =>
    new Stage(modules, {
      founders: namesIn(scenario, "founders"),
      later: namesIn(scenario, "later"),
      servers: areServers(scenario),
      print,
    }),
};

function namesIn(scenario: Scenario<Stage>, header: string): readonly string[] {
  return scenario.header(header)?.split(",") ?? [];
}

function areServers(scenario: Scenario<Stage>): boolean {
  const nodes = scenario.header("nodes");
  if (nodes !== undefined && nodes !== "servers")
    throw new Error(`${scenario.file}: the header "nodes" must be "servers" or left out, not "${nodes}"`);
  return nodes === "servers";
}
