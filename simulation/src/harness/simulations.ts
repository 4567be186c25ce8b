import { CORE_SIMULATION } from "../core-simulation.js";
import { PEER_SIMULATION } from "../peers/peer-simulation.js";
import type { Simulation } from "./simulation.js";

export const SIMULATIONS: Readonly<Record<Simulation["name"], Simulation>> = {
  core: CORE_SIMULATION,
  peers: PEER_SIMULATION,
};
