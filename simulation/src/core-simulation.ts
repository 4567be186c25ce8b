/** Electors over a store: the packages core and client, and the part of server that words its answers. */
import { CHECKS } from "./checks/check.js";
import { CORE_COPIES, type CoreModule, loadCore } from "./core-module.js";
import { loadCopy } from "./harness/mutant-loader.js";
import type { Simulation } from "./harness/simulation.js";
import { MUTANTS } from "./mutants/mutants.js";
import { PROFILES, profileNamed } from "./profile.js";
import { type Figures, World, type WorldReport } from "./world.js";

export const CORE_SIMULATION: Simulation<CoreModule, WorldReport> = {
  name: "core",
  profiles: Object.keys(PROFILES),
  checks: CHECKS,
  mutants: MUTANTS,
  huntLimit: 400,
  harmless: [],
  load: (mutant, core) =>
    mutant === undefined && core === undefined ? loadCore() : loadCopy(CORE_COPIES, mutant, core),
  run: (modules, { profile, ...schedule }) =>
    new World({ ...schedule, modules, profile: profileNamed(profile) }).run(),
  // By its effect on the election, not by a crash.
  shows: (_mutant, { code }) => code !== "E1",
  play: () => Promise.resolve([]),
  describe: (reports) => {
    const sum = (figure: keyof Figures) => reports.reduce((total, { figures }) => total + figures[figure], 0);
    return (
      `${sum("terms")} terms, ${sum("elections")} stints led, ${sum("reads")} reads, ${sum("events")} watched events, ` +
      `${sum("resyncs")} resyncs, ${sum("uncertain")} uncertain writes, ${sum("conflicts")} conflicts, ` +
      `${sum("uselessGrants")} useless grants, ${(sum("ghostMs") / 1000).toFixed(1)} s of ghosts`
    );
  },
};
