/** How long a durable write and a linearizable read take: through the server or the store, as every renewal does. */
import type { Clock, ElectorAdmin, RenewRequest } from "@tenure/core";
import { tellDuration } from "../frame/duration.js";
import { percentile } from "../frame/numbers.js";
import { type Finding, note, ok, wrong } from "./finding.js";

const TIMES = 20;
/** On a slow store fewer measurements have to do: somebody waits for the result. */
const MAX_MS = 2000;
const MIN_TIMES = 3;
const ABOUT = "store round trip";

export async function checkWrites(
  elector: ElectorAdmin,
  renewal: RenewRequest,
  shortestTtlMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<Finding[]> {
  const writesMs = await timed(clock, () => elector.renew(renewal, { signal }));
  const readsMs = await timed(clock, () => elector.leader(renewal.groupId, { signal }));
  return [judgeReads(readsMs), judgeWrites(writesMs, shortestTtlMs)];
}

async function timed(clock: Clock, work: () => Promise<unknown>): Promise<number[]> {
  const tookMs: number[] = [];
  const firstMs = clock.monotonicMs();
  while (tookMs.length < TIMES) {
    const startedMs = clock.monotonicMs();
    if (tookMs.length >= MIN_TIMES && startedMs - firstMs > MAX_MS) break;
    await work();
    tookMs.push(clock.monotonicMs() - startedMs);
  }
  return tookMs;
}

function judgeReads(tookMs: readonly number[]): Finding {
  return ok(ABOUT, `a linearizable read takes ${spread(tookMs)}`);
}

/** A write times out after a quarter of the group's ttl; half of that is reported as close to the limit. */
export function judgeWrites(tookMs: readonly number[], shortestTtlMs: number): Finding {
  const says = `a durable write takes ${spread(tookMs)}`;
  const typicalMs = percentile(tookMs, 0.5);
  if (typicalMs * 8 <= shortestTtlMs) return ok(ABOUT, says);
  const leases = `${says}, and leases may be as short as ${tellDuration(shortestTtlMs)}`;
  const advice = `raise --min-ttl of the groups to ${tellDuration(typicalMs * 20)} or more, or give the store a faster disk or network`;
  return typicalMs * 4 <= shortestTtlMs ? note(ABOUT, leases, advice) : wrong(ABOUT, leases, advice);
}

function spread(tookMs: readonly number[]): string {
  const round = (ms: number): string => tellDuration(Math.round(ms * 10) / 10);
  return `${round(percentile(tookMs, 0.5))} (slowest of ${tookMs.length}: ${round(Math.max(...tookMs))})`;
}
