import type { PeerCheckCode } from "./peer-checks.js";
import type { PeerModule } from "./peer-module.js";
import { peerProfileNamed } from "./peer-profile.js";
import { PeerWorld, type PeerWorldReport } from "./peer-world.js";

export interface PeerBatch {
  readonly profile: string;
  readonly from: number;
  readonly count: number;
  /** Ends the batch early once some schedule has shown a violation: of safety, or any. */
  readonly untilCaught?: "safety" | "liveness";
}

export interface PeerCaught {
  readonly code: PeerCheckCode;
  readonly seed: number;
  readonly profile: string;
  readonly atMs: number;
  readonly what: string;
}

export interface PeerBatchReport {
  schedules: number;
  elections: number;
  decided: number;
  forgotten: number;
  /** Schedules that ended with a majority of the electorate's disks lost: no leader is promised. */
  lost: number;
  /** Of the others: ttl from the end of the faults to the last election. */
  readonly healedTtl: number[];
  readonly caught: PeerCaught[];
}

const SIDE_BY_SIDE = 6;

export async function runPeerSchedules(modules: PeerModule, batch: PeerBatch): Promise<PeerBatchReport> {
  // Errors are values here, made by the thousand; nobody reads where they were made.
  Error.stackTraceLimit = 0;
  const report = emptyPeerReport();
  const profile = peerProfileNamed(batch.profile);
  let next = batch.from;
  const isCaught = (): boolean =>
    batch.untilCaught === "liveness"
      ? report.caught.length > 0
      : batch.untilCaught === "safety" && report.caught.some(isSafety);
  const runSome = async (): Promise<void> => {
    while (next < batch.from + batch.count && !isCaught()) {
      addWorld(report, await new PeerWorld({ seed: next++, profile, modules }).run(), batch.profile);
    }
  };
  await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, batch.count) }, runSome));
  report.caught.sort((a, b) => a.seed - b.seed);
  return report;
}

/** A rule that is switched off must show in what is done, not in a leader that comes late. */
export function isSafety({ code }: Pick<PeerCaught, "code">): boolean {
  return code.startsWith("S");
}

export function emptyPeerReport(): PeerBatchReport {
  return { schedules: 0, elections: 0, decided: 0, forgotten: 0, lost: 0, healedTtl: [], caught: [] };
}

export function addPeerReport(total: PeerBatchReport, part: PeerBatchReport): void {
  total.schedules += part.schedules;
  total.elections += part.elections;
  total.decided += part.decided;
  total.forgotten += part.forgotten;
  total.lost += part.lost;
  total.healedTtl.push(...part.healedTtl);
  total.caught.push(...part.caught);
}

function addWorld(total: PeerBatchReport, world: PeerWorldReport, profile: string): void {
  total.schedules++;
  total.elections += world.elections;
  total.decided += world.decided;
  total.forgotten += world.forgotten;
  if (world.healedTtl === null) total.lost++;
  else total.healedTtl.push(world.healedTtl);
  for (const violation of world.violations) total.caught.push({ ...violation, seed: world.seed, profile });
}
