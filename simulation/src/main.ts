import { parseArgs } from "node:util";
import type { Mutant } from "./harness/mutant.js";
import { Pool } from "./harness/pool.js";
import { readSeeds, recordSeeds } from "./harness/recorded-seeds.js";
import { commandOf, DEFAULT_PROFILE, mutantNamed, profileOf, type Simulation } from "./harness/simulation.js";
import { SIMULATIONS } from "./harness/simulations.js";
import { hunt, huntIn, soonestSeed, summarize, survey, violationsIn } from "./harness/survey.js";

const { core: CORE, peers: PEERS } = SIMULATIONS;

const DEFAULT_SEEDS = 200;

const HELP = `Usage: npm run sim -- [options]

Runs elections in virtual time: real electors around one store, with bad clocks, networks, stores and processes. Every
schedule follows from its seed. All cores are used.

  --seeds N         how many schedules of each profile (default ${DEFAULT_SEEDS}; of each mutant ${CORE.huntLimit}, with --peers ${PEERS.huntLimit})
  --total N         how many schedules in all, shared among the profiles: --profile all --total 20000
  --from SEED       the first seed (default 1)
  --profile NAME    ${CORE.profiles.join(", ")} or all (default ${DEFAULT_PROFILE})
  --mutant NAME     a package with one rule switched off; several by commas, or all: which checker notices, and from
                    which seed on
  --full            with --mutant: run all seeds and count, not only until the first is caught
  --record          with --mutant: keep, for the tests, the seeds at which the mutants are caught soonest, in
                    simulation/seeds
  --core DIR        the folder of another core, built, with this test kit, to compare the two
  --peers           quorum leases between peers instead; its profiles are ${PEERS.profiles.join(", ")}
  --verbose         print the trace of one schedule (--from SEED)
  --list            mutants and checkers
  --help`;

const MAX_SHOWN = 8;

interface Run {
  readonly simulation: Simulation;
  readonly profile: string | undefined;
  readonly from: number;
  readonly count: number;
  readonly core: string | undefined;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string" },
      total: { type: "string" },
      from: { type: "string", default: "1" },
      profile: { type: "string" },
      mutant: { type: "string" },
      full: { type: "boolean", default: false },
      record: { type: "boolean", default: false },
      core: { type: "string" },
      peers: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(HELP);
  const simulation = values.peers ? PEERS : CORE;
  if (values.list) return list(simulation);
  const { profile, core, total } = values;
  if (core !== undefined && values.peers) throw new Error("--core is not for --peers");
  if (values.record && (profile !== undefined || core !== undefined || values.mutant === undefined))
    throw new Error("--record needs --mutant, and neither --profile nor --core");
  const profiles = profilesNamed(simulation, profile);
  const usual = values.mutant === undefined ? DEFAULT_SEEDS : simulation.huntLimit;
  const count =
    total === undefined
      ? wholeNumber(values.seeds ?? `${usual}`, "--seeds")
      : Math.ceil(wholeNumber(total, "--total") / profiles.length);
  const run = { simulation, profile, from: wholeNumber(values.from, "--from"), count, core };
  const mutants = mutantsNamed(simulation, values.mutant);
  if (values.verbose) return replay(run, mutants[0]);
  const pool = Pool.start();
  try {
    if (mutants.length === 0) return await runClean(pool, run, profiles);
    return await runMutants(pool, run, mutants, values);
  } finally {
    await pool[Symbol.asyncDispose]();
  }
}

async function runClean(pool: Pool, run: Run, profiles: readonly string[]): Promise<number> {
  const { simulation, from, count, core } = run;
  let violations = 0;
  let schedules = 0;
  const sinceMs = performance.now();
  for (const profile of profiles) {
    const startMs = performance.now();
    const reports = await survey(pool, simulation, { profile, from, count, core });
    const caught = violationsIn(reports);
    schedules += reports.length;
    violations += caught.length;
    print(`${profile}: ${rate(reports.length, startMs)}, ${simulation.describe(reports)}`);
    if (caught.length > 0) print(`  ${summarize(caught)}`);
    for (const { code, seed, atMs, what } of caught.slice(0, MAX_SHOWN)) {
      print(`  ${code} (${simulation.checks[code]}) seed ${seed} at ${atMs.toFixed(1)} ms: ${what}`);
      print(`     ${commandOf(simulation)} --profile ${profile} --from ${seed} --verbose`);
    }
  }
  const found = violations === 0 ? "no violations" : `${violations} violations`;
  print(`${found} in ${rate(schedules, sinceMs)}, ${profiles.length} profiles`);
  return violations === 0 ? 0 : 1;
}

async function runMutants(
  pool: Pool,
  { simulation, from, count, profile, core }: Run,
  mutants: readonly Mutant[],
  { full, record }: { readonly full: boolean; readonly record: boolean },
): Promise<number> {
  let survivors = 0;
  const seeds = new Map<string, number>();
  const recorded = readSeeds(simulation);
  const huntOne = async (mutant: Mutant): Promise<string> => {
    const played = await simulation.play(mutant);
    const isShown = played.some((violation) => simulation.shows(mutant, violation));
    // Random schedules catch a mutant that has a recorded seed, and must go on to catch it.
    if (isShown && !full && recorded[mutant.name] === undefined)
      return `by scenario ${played.map(({ code }) => code).join(", ")}`;
    const batch = { profile: profileOf(mutant), mutant: mutant.name, from, count, core };
    const { schedules, caught } = full
      ? huntIn(await survey(pool, simulation, batch), simulation, mutant)
      : await hunt(pool, simulation, mutant, { from, limit: count, core });
    if (caught[0] === undefined) survivors++;
    else if (record) seeds.set(mutant.name, await soonestSeed(pool, simulation, mutant, caught[0].seed));
    return caught.length === 0 ? `not caught in ${schedules} schedules` : summarize(caught);
  };
  await Promise.all(
    mutants.map(async (original) => {
      const mutant = profile === undefined ? original : { ...original, profile };
      const result = await huntOne(mutant);
      print(`${mutant.name.padEnd(31)} ${profileOf(mutant).padEnd(14)} ${result}`);
    }),
  );
  if (record) recordSeeds(simulation, seeds);
  print(
    survivors === 0 ? `all ${mutants.length} mutants caught` : `${survivors} of ${mutants.length} not caught`,
  );
  return survivors === 0 ? 0 : 1;
}

async function replay({ simulation, from: seed, profile, core }: Run, mutant?: Mutant): Promise<number> {
  const modules = await simulation.load(mutant, core);
  const named = profile ?? (mutant === undefined ? DEFAULT_PROFILE : profileOf(mutant));
  const report = await simulation.run(modules, { seed, profile: named, print });
  for (const { code, what } of report.violations) print(`${code} (${simulation.checks[code]}): ${what}`);
  print(`trace ${report.digest}`);
  return report.violations.length === 0 ? 0 : 1;
}

function rate(schedules: number, sinceMs: number): string {
  const seconds = (performance.now() - sinceMs) / 1000;
  return `${schedules} schedules in ${seconds.toFixed(1)} s (${(schedules / seconds).toFixed(1)} a second)`;
}

function list({ mutants, checks }: Simulation): number {
  for (const mutant of mutants)
    print(`${mutant.name.padEnd(31)} ${profileOf(mutant).padEnd(14)} ${mutant.rule}`);
  for (const [code, what] of Object.entries(checks)) print(`${code.padEnd(4)} ${what}`);
  return 0;
}

function profilesNamed({ profiles }: Simulation, name = DEFAULT_PROFILE): readonly string[] {
  if (name === "all") return profiles;
  if (!profiles.includes(name)) throw new Error(`no profile ${name}; there are ${profiles.join(", ")}`);
  return [name];
}

function mutantsNamed(simulation: Simulation, names: string | undefined): readonly Mutant[] {
  if (names === undefined) return [];
  if (names === "all") return simulation.mutants;
  return names.split(",").map((name) => mutantNamed(simulation, name));
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
