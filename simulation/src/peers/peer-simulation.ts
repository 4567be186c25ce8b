/** Quorum leases between peers: the parts of a node from the package peers. */
import type { Simulation } from "../harness/simulation.js";
import { play, scenariosOf } from "../scenarios/scenario-world.js";
import { PEER_CHECKS } from "./peer-checks.js";
import { loadPeers, type PeerModule } from "./peer-module.js";
import { HARMLESS_MUTANTS, PEER_MUTANTS } from "./peer-mutants.js";
import { PEER_PROFILES, peerProfileNamed } from "./peer-profile.js";
import { PEER_SCENARIOS } from "./peer-scenarios.js";
import { PeerWorld, type PeerWorldReport } from "./peer-world.js";

/** Usually there is a leader within this number of ttls after the faults. */
export const USUAL_TTL = 3;

export const PEER_SIMULATION: Simulation<PeerModule, PeerWorldReport> = {
  name: "peers",
  profiles: Object.keys(PEER_PROFILES),
  checks: PEER_CHECKS,
  mutants: PEER_MUTANTS,
  huntLimit: 800,
  harmless: HARMLESS_MUTANTS,
  load: (mutant) => loadPeers(mutant),
  run: (modules, { profile, ...schedule }) =>
    new PeerWorld({ ...schedule, modules, profile: peerProfileNamed(profile) }).run(),
  shows: ({ breaks }, violation) => breaks === "liveness" || isSafety(violation),
  play: async (mutant) => {
    const scenarios = scenariosOf(PEER_SCENARIOS).filter(({ mutants }) => mutants.includes(mutant.name));
    if (scenarios.length === 0) return [];
    const modules = await loadPeers(mutant);
    const played = await Promise.all(scenarios.map((scenario) => play(PEER_SCENARIOS, scenario, modules)));
    return played.flatMap(({ stage }) => stage.violations);
  },
  describe: (reports) => {
    const sum = (figure: "elections" | "decided" | "forgotten") =>
      reports.reduce((total, report) => total + report[figure], 0);
    const decisions =
      sum("decided") > 0 ? `${sum("decided")} decisions, ${sum("forgotten")} forgotten, ` : "";
    return `${sum("elections")} elections, ${decisions}${lostIn(reports)} electorates lost, ${describeHealing(healedTtls(reports))}`;
  },
};

/** Something was done that is forbidden, unlike a leader that comes late. */
export function isSafety({ code }: { readonly code: string }): boolean {
  return code.startsWith("S");
}

/** Schedules that ended with a majority of the electorate's disks lost: no leader is promised. */
export function lostIn(reports: readonly PeerWorldReport[]): number {
  return reports.filter(({ healedTtl }) => healedTtl === null).length;
}

/** Of the other schedules: ttl from the end of the faults to the last election. */
export function healedTtls(reports: readonly PeerWorldReport[]): readonly number[] {
  return reports.flatMap(({ healedTtl }) => healedTtl ?? []);
}

function describeHealing(healedTtl: readonly number[]): string {
  const sorted = healedTtl.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0).toFixed(2);
  const late = sorted.filter((ttl) => ttl > USUAL_TTL).length;
  return `healed after ${at(0.5)} ttl (p50), ${at(0.99)} (p99), ${at(1)} (max), ${late} later than ${USUAL_TTL}`;
}
