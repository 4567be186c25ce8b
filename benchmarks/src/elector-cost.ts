/**
 * What a group costs a `StoreElector`: renewals per second and memory with 1,000 and with 100,000 groups, in one
 * process after the other, so that neither warms the other up nor leaves it its garbage.
 *
 * The clock stands still, so that no lease ends while it is measured; nothing in a renewal waits for it.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  type Clock,
  type Elector,
  MemoryStore,
  type RenewRequest,
  type Store,
  StoreElector,
} from "@tenure/core";
import type { Benchmark } from "./benchmark.js";
import { table } from "./table.js";

const FEW = 1000;
const MANY = 100_000;
const COST_TARGET = 1.5;
const HEAP_TARGET_BYTES = 2048;

const TTL_MS = 60_000;
const ROUND_MS = 3000;
const LIST = 1000;
const IN_FLIGHT = 256;

interface Figures {
  readonly groups: number;
  readonly listedPerSecond: number;
  readonly singlePerSecond: number;
  readonly storeBytes: number;
  readonly electorBytes: number;
}

export const electorCost: Benchmark = {
  name: "elector-cost",
  about: `renewals per second and memory of an elector with ${FEW} and with ${MANY} groups`,
  async run() {
    const few = inChild(FEW);
    const many = inChild(MANY);
    const listed = few.listedPerSecond / many.listedPerSecond;
    const single = few.singlePerSecond / many.singlePerSecond;
    const row = (figures: Figures) => [
      String(figures.groups),
      thousands(figures.listedPerSecond),
      thousands(figures.singlePerSecond),
      `${figures.storeBytes} B`,
      `${figures.electorBytes} B`,
    ];
    console.log(
      table(
        [
          "groups",
          `renewMany of ${LIST}, /s`,
          `renew, ${IN_FLIGHT} in flight, /s`,
          "store, per group",
          "elector, per group",
        ],
        [row(few), row(many)],
      ),
    );
    const verdict = (what: string, value: string, target: string, met: boolean) =>
      `${what}: ${value}, target ${target}: ${met ? "met" : "MISSED"}`;
    console.log(
      [
        verdict(
          "cost of a listed renewal",
          `${listed.toFixed(2)}×`,
          `within ${COST_TARGET}×`,
          listed <= COST_TARGET,
        ),
        verdict(
          "cost of a single renewal",
          `${single.toFixed(2)}×`,
          `within ${COST_TARGET}×`,
          single <= COST_TARGET,
        ),
        verdict(
          "heap per group",
          `${many.electorBytes} B`,
          `under ${HEAP_TARGET_BYTES} B`,
          many.electorBytes < HEAP_TARGET_BYTES,
        ),
      ].join("\n"),
    );
  },
};

function inChild(groups: number): Figures {
  const script = fileURLToPath(new URL("elector-cost-child.js", import.meta.url));
  const child = spawnSync(process.execPath, ["--expose-gc", script, String(groups)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.status !== 0) throw new Error(`the measurement with ${groups} groups ended with ${child.status}`);
  return JSON.parse(child.stdout) as Figures;
}

/** The measurement itself, in a process started with `--expose-gc`. */
export async function measure(groups: number): Promise<Figures> {
  const base = heapBytes();
  const store = new MemoryStore();
  const clock = stillClock();
  await fill(store, clock, groups);
  // The values that store and elector share count as the store's: without an elector it still has them.
  const storeBytes = heapBytes() - base;
  const elector = StoreElector.open({ store, clock });
  const { term } = await elector.leader("group/0");
  if (term !== 1) throw new Error(`group/0 is in term ${term}`);
  const electorBytes = heapBytes() - base - storeBytes;

  const requests = Array.from({ length: groups }, (_, i) => ({ ...claim(i), ttlMs: TTL_MS }));
  const listedPerSecond = await renewListed(elector, requests);
  const singlePerSecond = await renewSingly(elector, requests);
  await elector.close();
  await store.close();
  return {
    groups,
    listedPerSecond,
    singlePerSecond,
    storeBytes: Math.round(storeBytes / groups),
    electorBytes: Math.round(electorBytes / groups),
  };
}

/** One election in every group, by an elector that is gone afterwards. */
async function fill(store: Store, clock: Clock, groups: number): Promise<void> {
  const elector = StoreElector.open({ store, clock });
  const requests = Array.from({ length: groups }, (_, i) => {
    const { term: _term, ...candidate } = claim(i);
    return { ...candidate, ttlMs: TTL_MS };
  });
  for (let from = 0; from < groups; from += LIST) {
    await Promise.all(requests.slice(from, from + LIST).map((request) => elector.campaign(request)));
  }
  await elector.close();
}

/** One list after the other, over all groups; the first round warms up. */
async function renewListed(elector: Elector, requests: readonly RenewRequest[]): Promise<number> {
  const lists: RenewRequest[][] = [];
  for (let from = 0; from < requests.length; from += LIST) lists.push(requests.slice(from, from + LIST));
  let next = 0;
  return perSecond(async () => {
    const list = lists[next++ % lists.length] ?? [];
    const results = await elector.renewMany(list);
    if (results.some((result) => result.kind !== "renewed")) throw new Error("a renewal failed");
    return list.length;
  });
}

async function renewSingly(elector: Elector, requests: readonly RenewRequest[]): Promise<number> {
  let next = 0;
  return perSecond(async () => {
    const results = await Promise.all(
      Array.from({ length: IN_FLIGHT }, () =>
        elector.renew(requests[next++ % requests.length] as RenewRequest),
      ),
    );
    if (results.some((result) => result.kind !== "renewed")) throw new Error("a renewal failed");
    return results.length;
  });
}

async function perSecond(step: () => Promise<number>): Promise<number> {
  await during(ROUND_MS / 3, step);
  const rounds: number[] = [];
  for (let i = 0; i < 3; i++) rounds.push(await during(ROUND_MS, step));
  return Math.round(Math.max(...rounds));
}

async function during(durationMs: number, step: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  let count = 0;
  while (performance.now() - startMs < durationMs) count += await step();
  return (count * 1000) / (performance.now() - startMs);
}

function claim(index: number): { groupId: string; nodeId: string; instanceId: string; term: number } {
  const nodeId = `node-${index % 500}`;
  return { groupId: `group/${index}`, nodeId, instanceId: `${nodeId}-0b5a3c1e-7d0f`, term: 1 };
}

function stillClock(): Clock {
  return {
    monotonicMs: () => 1000,
    bootMs: () => 1000,
    bootTickMs: 10,
    wallMs: () => 1_700_000_000_000,
    after: () => () => {},
  };
}

function heapBytes(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("start it with --expose-gc");
  for (let i = 0; i < 4; i++) gc();
  return process.memoryUsage().heapUsed;
}

function thousands(value: number): string {
  return value.toLocaleString("en");
}
