/** Renewals at a steady rate, one at a time in each group, as leaders send them. */
import { randomUUID } from "node:crypto";
import { type Clock, type Elector, sleep } from "@tenure/core";
import { inParallel } from "./bench-groups.js";

export interface ThroughputOptions {
  readonly elector: Elector;
  readonly clock: Clock;
  readonly groupIds: readonly string[];
  readonly ratePerSecond: number;
  readonly durationMs: number;
  readonly signal: AbortSignal;
  readonly progress: (share: number) => void;
}

export interface Throughput {
  readonly electionsMs: number;
  readonly renewals: number;
  readonly failures: number;
  readonly elapsedMs: number;
  readonly latenciesMs: readonly number[];
}

interface Led {
  readonly groupId: string;
  readonly term: number;
  isBusy: boolean;
}

const NODE_ID = "tenure-bench";
const TTL_MS = 30_000;

export async function measureThroughput(options: ThroughputOptions): Promise<Throughput> {
  const { elector, clock, groupIds, ratePerSecond, durationMs, signal, progress } = options;
  const instanceId = randomUUID();
  const led: Led[] = [];
  const startedMs = clock.monotonicMs();
  await inParallel(groupIds, async (groupId) => {
    const result = await elector.campaign(
      { groupId, nodeId: NODE_ID, instanceId, ttlMs: TTL_MS },
      { signal },
    );
    if (result.kind === "lost") throw new Error(`the benchmark lost its own group ${groupId}`);
    led.push({ groupId, term: result.leader.term, isBusy: false });
  });
  const electionsMs = clock.monotonicMs() - startedMs;

  const latenciesMs: number[] = [];
  const underWay = new Set<Promise<void>>();
  let failures = 0;
  const renew = async (one: Led): Promise<void> => {
    one.isBusy = true;
    const sentMs = clock.monotonicMs();
    try {
      const { groupId, term } = one;
      const result = await elector.renew(
        { groupId, nodeId: NODE_ID, instanceId, term, ttlMs: TTL_MS },
        { signal },
      );
      if (result.kind === "renewed") latenciesMs.push(clock.monotonicMs() - sentMs);
      else failures++;
    } catch {
      signal.throwIfAborted();
      failures++;
    } finally {
      one.isBusy = false;
    }
  };
  const beganMs = clock.monotonicMs();
  let sent = 0;
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = clock.monotonicMs() - beganMs) {
    // Sends the renewals that are due. A group whose last renewal is in flight is skipped, so that a slow store is not flooded.
    const due = Math.floor((elapsedMs / 1000) * ratePerSecond) + 1;
    for (; sent < due; sent++) {
      const one = led[sent % led.length];
      if (one === undefined || one.isBusy) continue;
      const renewing = renew(one).finally(() => underWay.delete(renewing));
      renewing.catch(() => {});
      underWay.add(renewing);
    }
    progress(elapsedMs / durationMs);
    await sleep(clock, 1, signal);
  }
  await Promise.all(underWay);
  const elapsedMs = clock.monotonicMs() - beganMs;
  await inParallel(led, async ({ groupId, term }) => {
    await elector.resign({ groupId, nodeId: NODE_ID, instanceId, term });
  });
  return { electionsMs, renewals: latenciesMs.length, failures, elapsedMs, latenciesMs };
}
