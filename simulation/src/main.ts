import { parseArgs } from "node:util";
import { CHECKS } from "./checks/check.js";
import { loadCore } from "./core-module.js";
import type { Mutant } from "./mutants/mutant.js";
import { loadCopy } from "./mutants/mutant-loader.js";
import { MUTANTS } from "./mutants/mutants.js";
import { PEER_PROFILES } from "./peers/peer-profile.js";
import { runPeers } from "./peers/peers-main.js";
import { Pool } from "./pool.js";
import { PROFILES, profileNamed } from "./profile.js";
import type { BatchReport } from "./run-schedules.js";
import { hunt, summarize, survey } from "./survey.js";
import { World } from "./world.js";

const HELP = `Usage: npm run sim -- [options]

Runs elections in virtual time: real electors around one store, with bad clocks, networks, stores and processes. Every
schedule follows from its seed. All cores are used.

  --seeds N         how many schedules of each profile (default 200)
  --total N         how many schedules in all, shared among the profiles: --profile all --total 20000
  --from SEED       the first seed (default 1)
  --profile NAME    ${Object.keys(PROFILES).join(", ")} or all (default usual)
  --mutant NAME     core or client with one rule switched off; several by commas, or all: which checker notices, and
                    from which seed on
  --full            with --mutant: run all seeds and count, not only until the first is caught
  --core DIR        another build of core (its dist folder) with this test kit, to compare the two
  --peers           quorum leases between peers instead; its profiles are ${Object.keys(PEER_PROFILES).join(", ")}
  --verbose         print the trace of one schedule (--from SEED)
  --list            mutants and checkers
  --help`;

const MOST_SHOWN = 8;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "200" },
      total: { type: "string" },
      from: { type: "string", default: "1" },
      profile: { type: "string" },
      mutant: { type: "string" },
      full: { type: "boolean", default: false },
      core: { type: "string" },
      peers: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(HELP);
  const seeds = wholeNumber(values.seeds, "--seeds");
  const from = wholeNumber(values.from, "--from");
  if (values.peers) {
    const { profile, mutant, verbose } = values;
    const profiles = profile === "all" ? Object.keys(PEER_PROFILES).length : 1;
    const count =
      values.total === undefined ? seeds : Math.ceil(wholeNumber(values.total, "--total") / profiles);
    return runPeers({ from, count, profile, mutant, verbose, list: values.list }, print);
  }
  if (values.list) return list();
  const mutants = mutantsNamed(values.mutant);
  const { core } = values;
  if (values.verbose) return replay(from, values.profile, mutants[0], core);
  const profiles = values.profile === "all" ? Object.keys(PROFILES) : [values.profile ?? "usual"];
  profiles.forEach(profileNamed);
  const { total } = values;
  const count = total === undefined ? seeds : Math.ceil(wholeNumber(total, "--total") / profiles.length);
  const pool = Pool.start();
  try {
    if (mutants.length === 0) return await runClean(pool, profiles, from, count, core);
    return await runMutants(pool, mutants, from, count, values.full, values.profile, core);
  } finally {
    await pool[Symbol.asyncDispose]();
  }
}

async function runClean(
  pool: Pool,
  profiles: readonly string[],
  from: number,
  count: number,
  core: string | undefined,
): Promise<number> {
  let violations = 0;
  let schedules = 0;
  const sinceMs = performance.now();
  for (const profile of profiles) {
    const startMs = performance.now();
    const report = await survey(pool, { profile, from, count, core });
    schedules += report.schedules;
    print(`${profile}: ${rate(report.schedules, startMs)}, ${describeFigures(report)}`);
    if (report.caught.length > 0) print(`  ${summarize(report.caught)}`);
    for (const { code, seed, atMs, what } of report.caught.slice(0, MOST_SHOWN)) {
      print(`  ${code} (${CHECKS[code]}) seed ${seed} at ${atMs.toFixed(1)} ms: ${what}`);
      print(`     npm run sim -- --profile ${profile} --from ${seed} --verbose`);
    }
    violations += report.caught.length;
  }
  const found = violations === 0 ? "no violations" : `${violations} violations`;
  print(`${found} in ${rate(schedules, sinceMs)}, ${profiles.length} profiles`);
  return violations === 0 ? 0 : 1;
}

async function runMutants(
  pool: Pool,
  mutants: readonly Mutant[],
  from: number,
  count: number,
  full: boolean,
  profile: string | undefined,
  core: string | undefined,
): Promise<number> {
  let survivors = 0;
  await Promise.all(
    mutants.map(async (original) => {
      const mutant = profile === undefined ? original : { ...original, profile };
      const job = { mutant: mutant.name, profile: mutant.profile ?? "usual", from, count, core };
      const report = full ? await survey(pool, job) : await hunt(pool, mutant, from, count, core);
      if (report.caught.length === 0) survivors++;
      const result =
        report.caught.length === 0 ? `not caught in ${report.schedules} schedules` : summarize(report.caught);
      print(`${mutant.name.padEnd(31)} ${job.profile.padEnd(14)} ${result}`);
    }),
  );
  print(
    survivors === 0 ? `all ${mutants.length} mutants caught` : `${survivors} of ${mutants.length} not caught`,
  );
  return survivors === 0 ? 0 : 1;
}

async function replay(
  seed: number,
  profileName: string | undefined,
  mutant: Mutant | undefined,
  core: string | undefined,
): Promise<number> {
  const isThisOne = mutant === undefined && core === undefined;
  const modules = isThisOne ? await loadCore() : await loadCopy(core, mutant);
  const profile = profileNamed(profileName ?? mutant?.profile ?? "usual");
  const report = await new World({ seed, profile, modules, print }).run();
  for (const { code, what } of report.violations) print(`${code} (${CHECKS[code]}): ${what}`);
  print(`trace ${report.digest}`);
  return report.violations.length === 0 ? 0 : 1;
}

function rate(schedules: number, sinceMs: number): string {
  const seconds = (performance.now() - sinceMs) / 1000;
  return `${schedules} schedules in ${seconds.toFixed(1)} s (${(schedules / seconds).toFixed(1)} a second)`;
}

function describeFigures({ figures }: BatchReport): string {
  return (
    `${figures.terms} terms, ${figures.elections} stints led, ${figures.reads} reads, ${figures.events} watched events, ` +
    `${figures.resyncs} resyncs, ${figures.uncertain} uncertain writes, ${figures.conflicts} conflicts, ` +
    `${figures.uselessGrants} useless grants, ${(figures.ghostMs / 1000).toFixed(1)} s of ghosts`
  );
}

function list(): number {
  for (const { name, rule, profile } of MUTANTS)
    print(`${name.padEnd(31)} ${(profile ?? "usual").padEnd(14)} ${rule}`);
  for (const [code, what] of Object.entries(CHECKS)) print(`${code.padEnd(4)} ${what}`);
  return 0;
}

function mutantsNamed(name: string | undefined): readonly Mutant[] {
  if (name === undefined) return [];
  if (name === "all") return MUTANTS;
  return name.split(",").map((each) => {
    const mutant = MUTANTS.find((known) => known.name === each);
    if (mutant === undefined) throw new Error(`no mutant ${each}; --list shows them`);
    return mutant;
  });
}

function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`${option} must be a whole number, it is ${text}`);
  return value;
}

function print(line: string): number {
  process.stdout.write(`${line}\n`);
  return 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
