/**
 * How soon elections lead again after their service was frozen for longer than their leases: one in its process, and many. The
 * service and the elections are processes of their own, on the same machine; the sizes take turns.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "./child.js";
import type { LeadAgainAnswer, LeadAgainQuestion } from "./lead-again-child.js";
import { type Benchmark, median, table } from "./report.js";
import type { ServiceAnswer, ServiceQuestion } from "./service-load.js";

const COUNTS = [1, 20, 200] as const;
const ROUNDS = 5;
const TTL_MS = 3000;
const FROZEN_MS = 6000;

interface Round {
  readonly firstMs: number;
  readonly medianMs: number;
  readonly lastMs: number;
}

export const leadAgain: Benchmark = {
  name: "lead-again",
  about: `after a service was frozen for ${FROZEN_MS / 1000} s: how soon ${COUNTS.join(", ")} elections of one process lead again (ttl ${TTL_MS / 1000} s)`,
  async run() {
    const rounds = new Map<number, Round[]>(COUNTS.map((count) => [count, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const count of COUNTS) rounds.get(count)?.push(await measure(count));
    }
    const rows = [...rounds].map(([count, all]) => {
      const of = (field: keyof Round) => all.map((each) => each[field]);
      const worstMs = Math.max(...of("lastMs"));
      const figures = [median(of("firstMs")), median(of("medianMs")), median(of("lastMs")), worstMs];
      return [String(count), ...figures.map((ms) => `${ms.toFixed(0)} ms`)];
    });
    console.log(table(["elections", "first", "half", "all", "all, worst round"], rows));
    console.log(`medians of ${ROUNDS} rounds, from when the service runs again`);
  },
};

async function measure(count: number): Promise<Round> {
  const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
  const service = new Child<ServiceQuestion, ServiceAnswer>("tenure-child.js", [
    `embedded:${join(directory, "store")}`,
  ]);
  const process = new Child<LeadAgainQuestion, LeadAgainAnswer>("lead-again-child.js");
  try {
    const { port } = await service.ask("state");
    await process.ask({ kind: "lead", port, count, ttlMs: TTL_MS });
    // Past the first heartbeats, and never at the same place between two of them.
    await sleep(TTL_MS + Math.random() * TTL_MS);
    const again = process.ask({ kind: "again" });
    service.freeze();
    await sleep(FROZEN_MS);
    const thawedMs = Number(globalThis.process.hrtime.bigint()) / 1e6;
    service.thaw();
    const delaysMs = (await again).map((atMs) => atMs - thawedMs);
    await process.ask({ kind: "stop" });
    return {
      firstMs: Math.min(...delaysMs),
      medianMs: median(delaysMs),
      lastMs: Math.max(...delaysMs),
    };
  } finally {
    await Promise.all([service.end(), process.end()]);
    await rm(directory, { recursive: true, force: true });
  }
}
