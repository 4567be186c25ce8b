/** `npm run sim -- --peers`. */
import { PEER_CHECKS } from "./peer-checks.js";
import { loadPeerMutant } from "./peer-mutant-loader.js";
import { PEER_MUTANTS, type PeerMutant, peerMutantNamed } from "./peer-mutants.js";
import { loadPeers } from "./peer-module.js";
import { PEER_PROFILES, peerProfileNamed } from "./peer-profile.js";
import {
  describeHealing,
  huntPeers,
  type PeerPool,
  shows,
  startPeerPool,
  surveyPeers,
} from "./peer-survey.js";
import { PeerWorld } from "./peer-world.js";
import type { PeerCaught } from "./run-peer-schedules.js";
import { SCRIPTS } from "./scripts.js";

export interface PeersRun {
  readonly from: number;
  readonly count: number;
  readonly profile: string | undefined;
  readonly mutant: string | undefined;
  readonly verbose: boolean;
  readonly list: boolean;
}

const MOST_SHOWN = 8;
const USUAL = "usual";

type Print = (line: string) => void;

/** Returns the exit code. */
export async function runPeers(run: PeersRun, print: Print): Promise<number> {
  if (run.list) return list(print);
  const mutants =
    run.mutant === undefined ? [] : run.mutant === "all" ? PEER_MUTANTS : [peerMutantNamed(run.mutant)];
  if (run.verbose) return replay(run, mutants[0], print);
  const profiles = run.profile === "all" ? Object.keys(PEER_PROFILES) : [run.profile ?? USUAL];
  profiles.forEach(peerProfileNamed);
  const pool = startPeerPool();
  try {
    if (mutants.length === 0) return await runClean(pool, run, profiles, print);
    return await runMutants(pool, run, mutants, print);
  } finally {
    await pool[Symbol.asyncDispose]();
  }
}

async function runClean(
  pool: PeerPool,
  { from, count }: PeersRun,
  profiles: readonly string[],
  print: Print,
): Promise<number> {
  let violations = 0;
  for (const profile of profiles) {
    const startMs = performance.now();
    const report = await surveyPeers(pool, { profile, from, count });
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    print(
      `${profile}: ${report.schedules} schedules in ${seconds} s, ${report.elections} elections, ` +
        (report.decided > 0 ? `${report.decided} decisions, ${report.forgotten} forgotten, ` : "") +
        `${report.lost} electorates lost, ${describeHealing(report)}`,
    );
    for (const { code, seed, atMs, what } of report.caught.slice(0, MOST_SHOWN)) {
      print(`  ${code} (${PEER_CHECKS[code]}) seed ${seed} at ${atMs.toFixed(1)} ms: ${what}`);
      print(`     npm run sim -- --peers --profile ${profile} --from ${seed} --verbose`);
    }
    violations += report.caught.length;
  }
  print(violations === 0 ? "no violations" : `${violations} violations`);
  return violations === 0 ? 0 : 1;
}

async function runMutants(
  pool: PeerPool,
  { from, count, profile }: PeersRun,
  mutants: readonly PeerMutant[],
  print: Print,
): Promise<number> {
  let survivors = 0;
  for (const original of mutants) {
    const mutant = profile === undefined ? original : { ...original, profile };
    const report = await huntPeers(pool, mutant, from, count);
    const caught = report.caught.filter(shows(mutant));
    const scripted = await playScripts(mutant);
    if (caught.length === 0 && scripted === "") survivors++;
    const byChance = caught.length === 0 ? `not by chance in ${report.schedules}` : describe(caught);
    print(`${mutant.name.padEnd(28)} ${(mutant.profile ?? USUAL).padEnd(8)} ${byChance}${scripted}`);
  }
  print(survivors === 0 ? `all ${mutants.length} caught` : `${survivors} of ${mutants.length} not caught`);
  return survivors === 0 ? 0 : 1;
}

async function playScripts(mutant: PeerMutant): Promise<string> {
  const modules = await loadPeerMutant(mutant);
  const codes = [];
  for (const script of SCRIPTS.filter((each) => each.mutant === mutant.name)) {
    codes.push(...(await script.run(modules)).violations.map(({ code }) => code));
  }
  return codes.length === 0 ? "" : `; by script ${codes.join(", ")}`;
}

async function replay(run: PeersRun, mutant: PeerMutant | undefined, print: Print): Promise<number> {
  const modules = mutant === undefined ? await loadPeers() : await loadPeerMutant(mutant);
  const profile = peerProfileNamed(run.profile ?? mutant?.profile ?? USUAL);
  const report = await new PeerWorld({ seed: run.from, profile, modules, print }).run();
  for (const { code, what } of report.violations) print(`${code} (${PEER_CHECKS[code]}): ${what}`);
  print(`trace ${report.digest}`);
  return report.violations.length === 0 ? 0 : 1;
}

function list(print: Print): number {
  for (const { name, rule, profile } of PEER_MUTANTS)
    print(`${name.padEnd(28)} ${(profile ?? USUAL).padEnd(8)} ${rule}`);
  for (const [code, what] of Object.entries(PEER_CHECKS)) print(`${code.padEnd(4)} ${what}`);
  return 0;
}

function describe(caught: readonly PeerCaught[]): string {
  return caught.map(({ code, seed }) => `${code} at ${seed}`).join(", ");
}
