import type { CheckCode } from "./checks/check.js";
import type { CoreModule } from "./core-module.js";
import { profileNamed } from "./profile.js";
import { type Figures, World, type WorldReport } from "./world.js";

export interface Batch {
  readonly profile: string;
  readonly from: number;
  readonly count: number;
  /** Ends the batch early once some schedule has shown a violation. */
  readonly untilCaught?: boolean;
}

export interface Caught {
  readonly code: CheckCode;
  readonly seed: number;
  readonly profile: string;
  readonly atMs: number;
  readonly what: string;
}

export interface BatchReport {
  schedules: number;
  readonly figures: Figures;
  readonly caught: Caught[];
}

/** Worlds side by side share the turns of the event loop; with more of them the caches no longer hold them all. */
const SIDE_BY_SIDE = 6;

export async function runSchedules(modules: CoreModule, batch: Batch): Promise<BatchReport> {
  // Errors are values here, made by the thousand; nobody reads where they were made.
  Error.stackTraceLimit = 0;
  const report = emptyReport();
  const profile = profileNamed(batch.profile);
  let next = batch.from;
  const runSome = async () => {
    while (next < batch.from + batch.count && !(batch.untilCaught === true && report.caught.length > 0)) {
      const seed = next++;
      addWorld(report, await new World({ seed, profile, modules }).run(), batch.profile);
    }
  };
  await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, batch.count) }, runSome));
  report.caught.sort((a, b) => a.seed - b.seed);
  return report;
}

export function emptyReport(): BatchReport {
  const figures = {
    elections: 0,
    terms: 0,
    reads: 0,
    events: 0,
    resyncs: 0,
    uncertain: 0,
    conflicts: 0,
    uselessGrants: 0,
    ghostMs: 0,
  };
  return { schedules: 0, figures, caught: [] };
}

export function addReport(total: BatchReport, part: BatchReport): void {
  total.schedules += part.schedules;
  addFigures(total.figures, part.figures);
  total.caught.push(...part.caught);
}

function addWorld(total: BatchReport, world: WorldReport, profile: string): void {
  total.schedules++;
  addFigures(total.figures, world.figures);
  for (const violation of world.violations) total.caught.push({ ...violation, seed: world.seed, profile });
}

function addFigures(total: Figures, part: Figures): void {
  for (const key of Object.keys(total) as (keyof Figures)[]) total[key] += part[key];
}
