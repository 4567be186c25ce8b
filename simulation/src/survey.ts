/** Many schedules over all cores, and what comes of them. */
import type { CheckCode } from "./checks/check.js";
import type { Mutant } from "./mutants/mutant.js";
import type { Job, Pool } from "./pool.js";
import { addReport, type BatchReport, type Caught, emptyReport } from "./run-schedules.js";

const BATCH = 25;

export async function survey(
  pool: Pool,
  job: Job,
  onProgress: (total: BatchReport) => void = () => {},
): Promise<BatchReport> {
  const total = emptyReport();
  const batches: Promise<void>[] = [];
  for (let from = job.from; from < job.from + job.count; from += BATCH) {
    const count = Math.min(BATCH, job.from + job.count - from);
    batches.push(
      pool.run({ ...job, from, count }).then((part) => {
        addReport(total, part);
        onProgress(total);
      }),
    );
  }
  await Promise.all(batches);
  total.caught.sort((a, b) => a.seed - b.seed);
  return total;
}

/** Runs a mutant until something catches it, or `limit` schedules have not. */
export async function hunt(
  pool: Pool,
  mutant: Mutant,
  from: number,
  limit: number,
  core?: string,
): Promise<BatchReport> {
  const total = emptyReport();
  for (let start = from; start < from + limit && total.caught.length === 0; start += BATCH) {
    const job = {
      mutant: mutant.name,
      profile: mutant.profile ?? "usual",
      from: start,
      count: BATCH,
      untilCaught: true,
      core,
    };
    addReport(total, await pool.run(job));
  }
  return total;
}

/** `S1 8 (385), S6 1 (284)`: each checker, the first seed that it saw, and how many. */
export function summarize(caught: readonly Caught[]): string {
  const byCode = new Map<CheckCode, { first: number; count: number }>();
  for (const { code, seed } of caught) {
    const known = byCode.get(code) ?? { first: seed, count: 0 };
    byCode.set(code, { first: Math.min(known.first, seed), count: known.count + 1 });
  }
  return [...byCode].map(([code, { first, count }]) => `${code} ${first} (${count})`).join(", ");
}
