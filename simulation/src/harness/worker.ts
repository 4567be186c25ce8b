/** One core's share of the work: takes jobs one by one, each with its own copy of the code under test. */
import { parentPort } from "node:worker_threads";
import type { Answer, Job } from "./pool.js";
import { mutantNamed, type ScheduleReport, type Violation } from "./simulation.js";
import { SIMULATIONS } from "./simulations.js";

/** Worlds side by side share the turns of the event loop; with more of them the caches no longer hold them all. */
const SIDE_BY_SIDE = 6;

// Errors are values here, created by the thousand; their stack traces are not read.
Error.stackTraceLimit = 0;

const loaded = new Map<string, Promise<unknown>>();

async function run(job: Job): Promise<readonly ScheduleReport[]> {
  const { profile, from, count, core } = job;
  const simulation = SIMULATIONS[job.simulation];
  const mutant = job.mutant === undefined ? undefined : mutantNamed(simulation, job.mutant);
  const key = [job.simulation, job.mutant, core].join(" ");
  const loading = loaded.get(key) ?? simulation.load(mutant, core);
  loaded.set(key, loading);
  const modules = await loading;
  const reports: ScheduleReport[] = [];
  let next = from;
  let isCaught = false;
  const until =
    job.untilCaught === true && mutant !== undefined
      ? (violation: Violation) => simulation.shows(mutant, violation)
      : undefined;
  const runSome = async (): Promise<void> => {
    while (next < from + count && !isCaught) {
      const report = await simulation.run(modules, { seed: next++, profile, ...(until && { until }) });
      reports.push(report);
      if (until !== undefined) isCaught ||= report.violations.some(until);
    }
  };
  await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, count) }, runSome));
  return reports;
}

async function answer(job: Job): Promise<Answer> {
  try {
    return { reports: await run(job) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on("message", (job: Job) => {
  void answer(job).then((answered) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
    parentPort?.postMessage(answered);
  });
});
