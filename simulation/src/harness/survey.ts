/** Many schedules over all cores. */
import type { Mutant } from "./mutant.js";
import type { Batch, Pool } from "./pool.js";
import { profileOf, type ScheduleReport, type Simulation, type Violation } from "./simulation.js";

export interface Caught extends Violation {
  readonly seed: number;
}

/** The result of the schedules in which a mutant was hunted. */
export interface Hunt {
  readonly schedules: number;
  /** By seed: every violation, and those that show the rule of the mutant to be switched off. */
  readonly violations: readonly Caught[];
  readonly caught: readonly Caught[];
}

/** What runs batches of schedules. */
export type Schedules = Pick<Pool, "run">;

const BATCH = 25;

/** Runs the whole batch; the reports come in the order of their seeds. */
export async function survey<R extends ScheduleReport>(
  pool: Schedules,
  simulation: Simulation<unknown, R>,
  batch: Batch,
): Promise<readonly R[]> {
  const starts = Array.from({ length: Math.ceil(batch.count / BATCH) }, (_, i) => batch.from + i * BATCH);
  const parts = starts.map((from) =>
    pool.run(simulation, { ...batch, from, count: Math.min(BATCH, batch.from + batch.count - from) }),
  );
  return (await Promise.all(parts)).flat().toSorted((a, b) => a.seed - b.seed);
}

export function violationsIn(reports: readonly ScheduleReport[]): readonly Caught[] {
  return reports
    .flatMap(({ seed, violations }) => violations.map((violation) => ({ ...violation, seed })))
    .toSorted((a, b) => a.seed - b.seed);
}

/** Runs a mutant from seed `from` on until it is caught, or `limit` schedules have not caught it. */
export async function hunt(
  pool: Schedules,
  simulation: Simulation,
  mutant: Mutant,
  {
    from = 1,
    limit,
    core,
  }: { readonly from?: number; readonly limit: number; readonly core?: string | undefined },
): Promise<Hunt> {
  const reports: ScheduleReport[] = [];
  for (let start = from; ; start += BATCH) {
    const hunted = huntIn(reports, simulation, mutant);
    const count = Math.min(BATCH, from + limit - start);
    if (hunted.caught.length > 0 || count <= 0) return hunted;
    const batch = {
      profile: profileOf(mutant),
      mutant: mutant.name,
      from: start,
      count,
      untilCaught: true,
      core,
    };
    reports.push(...(await pool.run(simulation, batch)));
  }
}

/** Of some seeds from the first that catches the mutant on: the one whose schedule catches the mutant soonest. */
export async function soonestSeed(
  pool: Schedules,
  simulation: Simulation,
  mutant: Mutant,
  from: number,
): Promise<number> {
  const batch = { profile: profileOf(mutant), mutant: mutant.name, from, count: BATCH };
  const { caught } = huntIn(await survey(pool, simulation, batch), simulation, mutant);
  const [soonest] = caught.toSorted((a, b) => a.atMs - b.atMs);
  return soonest?.seed ?? from;
}

export function huntIn(reports: readonly ScheduleReport[], simulation: Simulation, mutant: Mutant): Hunt {
  const violations = violationsIn(reports);
  const caught = violations.filter((violation) => simulation.shows(mutant, violation));
  return { schedules: reports.length, violations, caught };
}

/** `S1 8 (385), S6 1 (284)`: each checker, the first seed that it saw, and how many. */
export function summarize(caught: readonly Caught[]): string {
  const byCode = new Map<string, { first: number; count: number }>();
  for (const { code, seed } of caught) {
    const known = byCode.get(code) ?? { first: seed, count: 0 };
    byCode.set(code, { first: Math.min(known.first, seed), count: known.count + 1 });
  }
  return [...byCode].map(([code, { first, count }]) => `${code} ${first} (${count})`).join(", ");
}
