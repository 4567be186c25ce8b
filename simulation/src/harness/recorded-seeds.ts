/**
 * The seed at which each mutant was caught when `npm run sim -- --mutant all --record` ran last, so that tests need not look
 * for it. A seed gives another schedule as soon as its world draws one number more, so a record can be stale: then the mutant
 * is looked for from seed 1 on, and only the record is reported as wrong.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.js";
import { commandOf, type Simulation } from "./simulation.js";
import { type Hunt, hunt, type Schedules } from "./survey.js";

export type RecordedSeeds = Readonly<Record<string, number>>;

/** One file for each simulation. */
const FOLDER = fileURLToPath(new URL("../../seeds", import.meta.url));

export function readSeeds({ name }: Simulation, folder: string = FOLDER): RecordedSeeds {
  const file = join(folder, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as RecordedSeeds) : {};
}

/** Adds to the record, and drops the mutants that are no more. */
export function recordSeeds(
  simulation: Simulation,
  found: ReadonlyMap<string, number>,
  folder: string = FOLDER,
): void {
  const before = readSeeds(simulation, folder);
  const seeds = simulation.mutants.flatMap(({ name }) => {
    const seed = found.get(name) ?? before[name];
    return seed === undefined ? [] : [[name, seed] as const];
  });
  writeFileSync(
    join(folder, `${simulation.name}.json`),
    `${JSON.stringify(Object.fromEntries(seeds), null, 2)}\n`,
  );
}

/** Runs the recorded schedule of a mutant; if it does not catch the mutant, hunts from seed 1 on and warns. */
export async function huntRecorded(
  pool: Schedules,
  simulation: Simulation,
  mutant: Mutant,
  seed: number | undefined,
  warn: (line: string) => void,
): Promise<Hunt> {
  if (seed !== undefined) {
    const recorded = await hunt(pool, simulation, mutant, { from: seed, limit: 1 });
    if (recorded.caught.length > 0) return recorded;
  }
  const hunted = await hunt(pool, simulation, mutant, { limit: simulation.huntLimit });
  const now = hunted.caught[0]?.seed;
  if (now !== undefined) {
    const record = seed === undefined ? "no seed of it is recorded" : `its recorded seed ${seed} is stale`;
    const command = `${commandOf(simulation)} --mutant ${mutant.name} --record`;
    warn(`mutant ${mutant.name} is caught at seed ${now}, but ${record}; refresh the record: ${command}`);
  }
  return hunted;
}
