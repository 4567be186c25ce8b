/** The cost of `isLeader()`, which is called before every action. */
import { MemoryStore, StoreElector } from "@tenure/core";
import { afterAll, expect, test } from "vitest";
import { Election } from "./election.js";

const elector = StoreElector.open({ store: new MemoryStore() });
const started: Election[] = [];
afterAll(async () => {
  await Promise.all(started.map((election) => election.stop()));
  await elector.close();
});

async function leading(groupId: string): Promise<Election> {
  const election = new Election(elector, { groupId, nodeId: "a", ttlMs: 60_000 });
  started.push(election);
  await election.start();
  return election;
}

function ask(election: Election, times: number): void {
  for (let i = 0; i < times; i += 1) if (!election.isLeader()) throw new Error("it no longer leads");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

/** A million calls in batches so small that a garbage collection falls into few of them. */
function bytesPerCall(run: (times: number) => void): number {
  const calls = 10_000;
  const rounds = Array.from({ length: 100 }, () => {
    const before = process.memoryUsage().heapUsed;
    run(calls);
    return (process.memoryUsage().heapUsed - before) / calls;
  });
  return median(rounds);
}

/** Processor time, so that other processes do not count. */
function nanosecondsPerCall(run: (times: number) => void): number {
  const calls = 1_000_000;
  const before = process.cpuUsage();
  run(calls);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / calls;
}

function lookAtClock(times: number): void {
  for (let i = 0; i < times; i += 1) if (performance.now() < 0) throw new Error("the clock is wrong");
}

test("isLeader() costs less than four reads of the clock", async () => {
  const election = await leading("time");
  const rounds = Array.from({ length: 9 }, () => ({
    askNs: nanosecondsPerCall((times) => ask(election, times)),
    lookNs: nanosecondsPerCall(lookAtClock),
  }));
  const ratios = rounds.map(({ askNs, lookNs }) => askNs / lookNs);
  expect(median(ratios), JSON.stringify(rounds)).toBeLessThan(4);
});

test("isLeader() allocates nothing", async () => {
  const election = await leading("memory");
  // The smallest allocation is eight bytes.
  expect(bytesPerCall((times) => ask(election, times))).toBeLessThan(1);
});
