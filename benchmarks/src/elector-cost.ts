/**
 * What a group costs a `StoreElector`: CPU time per renewal and memory, with 1,000 and with 100,000 groups.
 *
 * Both sizes live in one process and take turns, so that whatever else the machine does hits both; CPU time and not
 * wall time is counted, and the ratio is the median of many rounds. The clock of the electors stands still, so
 * that no lease ends while it is measured; nothing in a renewal waits for it.
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
import { scriptIn } from "./child.js";
import { type Benchmark, median, table, verdict } from "./report.js";

const FEW = 1000;
const MANY = 100_000;
const COST_TARGET = 1.5;
const HEAP_TARGET_BYTES = 2048;

const TTL_MS = 60_000;
const LIST = 1000;
const IN_FLIGHT = 256;
const ROUNDS = 9;
/** Of both builds, with `--beside`. */
const TURNS = 3;
/** Renewals in one turn of one size. */
const TURN = 25_600;

interface Size {
  readonly groups: number;
  readonly storeBytes: number;
  readonly electorBytes: number;
  /** CPU time per renewal, one figure per round. */
  readonly listedUs: number[];
  readonly singleUs: number[];
}

interface Bench {
  readonly size: Size;
  readonly store: Store;
  readonly elector: Elector;
  readonly requests: readonly RenewRequest[];
  next: number;
}

export const electorCost: Benchmark = {
  name: "elector-cost",
  about: `CPU time per renewal and memory of an elector with ${FEW} and with ${MANY} groups`,
  async run() {
    const [few, many] = inChild();
    const row = (size: Size) => [
      size.groups.toLocaleString("en"),
      median(size.listedUs).toFixed(2),
      median(size.singleUs).toFixed(2),
      // Of a thousand groups the heap tells nothing: what a process makes once is more.
      size === many ? `${size.storeBytes} B` : "–",
      size === many ? `${size.electorBytes} B` : "–",
    ];
    const head = [
      "groups",
      `renewMany of ${LIST}, µs each`,
      `renew, ${IN_FLIGHT} in flight, µs each`,
      "store, per group",
      "elector, per group",
    ];
    console.log(table(head, [row(few), row(many)]));
    const heapBytes = many.storeBytes + many.electorBytes;
    const cost = (what: string, ratio: number) =>
      verdict(what, `${ratio.toFixed(2)}×`, `within ${COST_TARGET}×`, ratio <= COST_TARGET);
    console.log(
      [
        cost("cost of a listed renewal", medianRatio(many.listedUs, few.listedUs)),
        cost("cost of a single renewal", medianRatio(many.singleUs, few.singleUs)),
        verdict(
          "heap per group, elector and store",
          `${heapBytes} B`,
          `under ${HEAP_TARGET_BYTES} B`,
          heapBytes < HEAP_TARGET_BYTES,
        ),
      ].join("\n"),
    );
  },
  async beside(checkout) {
    const mine: Costs[] = [];
    const others: Costs[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      mine.push(costsOf(inChild()));
      others.push(costsOf(inChild(scriptIn(checkout, CHILD))));
    }
    compare(mine, others);
  },
};

/** Per size: CPU time of a listed and of a single renewal in one turn of one build. */
type Costs = readonly { readonly groups: number; readonly listedUs: number; readonly singleUs: number }[];

function costsOf(sizes: readonly Size[]): Costs {
  return sizes.map(({ groups, listedUs, singleUs }) => ({
    groups,
    listedUs: median(listedUs),
    singleUs: median(singleUs),
  }));
}

function compare(mine: readonly Costs[], others: readonly Costs[]): void {
  const rows = [FEW, MANY].flatMap((groups, size) =>
    (["listedUs", "singleUs"] as const).map((field) => {
      const of = (turns: readonly Costs[]) => turns.map((turn) => turn[size]?.[field] ?? Number.NaN);
      return [
        `${field === "listedUs" ? "renewMany" : "renew"}, ${groups.toLocaleString("en")} groups`,
        median(of(mine)).toFixed(2),
        median(of(others)).toFixed(2),
        medianRatio(of(mine), of(others)).toFixed(2),
      ];
    }),
  );
  console.log(table(["CPU, µs each", "this build", "other build", "ratio"], rows));
}

function medianRatio(dividends: readonly number[], divisors: readonly number[]): number {
  return median(dividends.map((each, round) => each / (divisors[round] ?? Number.NaN)));
}

const CHILD = "elector-cost-child.js";

function inChild(
  script: string = fileURLToPath(new URL(CHILD, import.meta.url)),
): readonly [few: Size, many: Size] {
  const child = spawnSync(process.execPath, ["--expose-gc", script], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.status !== 0) throw new Error(`the measurement ended with ${child.status}`);
  return JSON.parse(child.stdout) as [Size, Size];
}

/** The measurement itself, in a process started with `--expose-gc`. */
export async function measure(): Promise<readonly [few: Size, many: Size]> {
  const few = await open(FEW);
  const many = await open(MANY);
  for (let round = -1; round < ROUNDS; round++) {
    // Each goes first every other time; the first round warms up.
    for (const bench of round % 2 === 0 ? [few, many] : [many, few]) {
      const listedUs = await cpuUs(() => renewListed(bench));
      const singleUs = await cpuUs(() => renewSingly(bench));
      if (round < 0) continue;
      bench.size.listedUs.push(listedUs);
      bench.size.singleUs.push(singleUs);
    }
  }
  for (const { elector, store } of [few, many]) {
    await elector.close();
    await store.close();
  }
  return [few.size, many.size];
}

async function open(groups: number): Promise<Bench> {
  const requests = Array.from({ length: groups }, (_, i) => renewal(i));
  const baseBytes = heapBytes();
  const store = new MemoryStore();
  const clock = stillClock();
  await elect(store, clock, requests);
  // The values that store and elector share count as the store's: without an elector it still has them.
  const filledBytes = heapBytes();
  const elector = StoreElector.open({ store, clock });
  const { term } = await elector.leader("group/0");
  if (term !== 1) throw new Error(`group/0 is in term ${term}`);
  const perGroup = (bytes: number) => Math.round(bytes / groups);
  const size = {
    groups,
    storeBytes: perGroup(filledBytes - baseBytes),
    electorBytes: perGroup(heapBytes() - filledBytes),
    listedUs: [],
    singleUs: [],
  };
  return { size, store, elector, requests, next: 0 };
}

/** One election in every group, by an elector that is gone afterwards. */
async function elect(store: Store, clock: Clock, requests: readonly RenewRequest[]): Promise<void> {
  const elector = StoreElector.open({ store, clock });
  for (let from = 0; from < requests.length; from += LIST) {
    const campaigns = requests.slice(from, from + LIST).map(({ groupId, nodeId, instanceId, ttlMs }) => {
      return elector.campaign({ groupId, nodeId, instanceId, ttlMs });
    });
    await Promise.all(campaigns);
  }
  await elector.close();
}

async function cpuUs(turn: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await turn();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TURN;
}

/** One list after the other, going round all groups. */
async function renewListed(bench: Bench): Promise<void> {
  for (let left = TURN; left > 0; left -= LIST) {
    const results = await bench.elector.renewMany(take(bench, Math.min(left, LIST)));
    if (results.some((result) => result.kind !== "renewed")) throw new Error("a renewal failed");
  }
}

async function renewSingly(bench: Bench): Promise<void> {
  for (let left = TURN; left > 0; left -= IN_FLIGHT) {
    const results = await Promise.all(take(bench, IN_FLIGHT).map((request) => bench.elector.renew(request)));
    if (results.some((result) => result.kind !== "renewed")) throw new Error("a renewal failed");
  }
}

function take(bench: Bench, count: number): readonly RenewRequest[] {
  const { requests } = bench;
  if (bench.next + count > requests.length) bench.next = 0;
  bench.next += count;
  return requests.slice(bench.next - count, bench.next);
}

function renewal(index: number): RenewRequest {
  const nodeId = `node-${index % 500}`;
  const instanceId = `${nodeId}-0b5a3c1e-7d0f`;
  return { groupId: `group/${index}`, nodeId, instanceId, term: 1, ttlMs: TTL_MS };
}

function stillClock(): Clock {
  return {
    monotonicMs: () => 1000,
    bootMs: () => 1000,
    bootTickMs: 10,
    wallMs: () => 1_700_000_000_000,
    soon: (callback) => queueMicrotask(callback),
    after: () => () => {},
  };
}

function heapBytes(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("start it with --expose-gc");
  for (let i = 0; i < 4; i++) gc();
  return process.memoryUsage().heapUsed;
}
