/** Many schedules of peers over all cores, and what comes of them. */
import type { PeerMutant } from "./peer-mutants.js";
import { Pool } from "../pool.js";
import {
  addPeerReport,
  emptyPeerReport,
  isSafety,
  type PeerBatch,
  type PeerBatchReport,
  type PeerCaught,
} from "./run-peer-schedules.js";

export interface PeerJob extends PeerBatch {
  readonly mutant?: string;
}

export type PeerPool = Pool<PeerJob, PeerBatchReport>;

const BATCH = 25;
const USUAL = "usual";

/** The built one, also where this file runs from source. */
const WORKER = new URL("../../dist/peers/peer-worker.js", import.meta.url);

export function startPeerPool(): PeerPool {
  return Pool.start<PeerJob, PeerBatchReport>(undefined, WORKER);
}

export async function surveyPeers(pool: PeerPool, job: PeerJob): Promise<PeerBatchReport> {
  const total = emptyPeerReport();
  const batches: Promise<void>[] = [];
  for (let from = job.from; from < job.from + job.count; from += BATCH) {
    const count = Math.min(BATCH, job.from + job.count - from);
    batches.push(pool.run({ ...job, from, count }).then((part) => addPeerReport(total, part)));
  }
  await Promise.all(batches);
  total.caught.sort((a, b) => a.seed - b.seed);
  return total;
}

/** Whether this shows that the rule of the mutant is switched off. */
export function shows({ breaks }: PeerMutant): (caught: Pick<PeerCaught, "code">) => boolean {
  return breaks === "liveness" ? () => true : isSafety;
}

/** Runs a mutant until it breaks what its rule is for, or `limit` schedules have not shown it. */
export async function huntPeers(
  pool: PeerPool,
  mutant: PeerMutant,
  from: number,
  limit: number,
): Promise<PeerBatchReport> {
  const total = emptyPeerReport();
  for (let start = from; start < from + limit && !total.caught.some(shows(mutant)); start += BATCH) {
    const profile = mutant.profile ?? USUAL;
    const job = {
      mutant: mutant.name,
      profile,
      from: start,
      count: BATCH,
      untilCaught: mutant.breaks ?? "safety",
    } as const;
    addPeerReport(total, await pool.run(job));
  }
  return total;
}

/** How long after the faults the leader stood, in ttl. */
export function describeHealing({ healedTtl }: PeerBatchReport): string {
  const sorted = healedTtl.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0).toFixed(2);
  const late = sorted.filter((ttl) => ttl > 3).length;
  return `healed after ${at(0.5)} ttl (p50), ${at(0.99)} (p99), ${at(1)} (max), ${late} later than 3`;
}
