/**
 * Durable renewals per second through a `StoreElector` over the embedded store, against the bare store: batches of
 * compare-and-sets of values as long, as many at a time. Both in one run on one store, in turns; the ratio is what
 * counts, since the rate itself is that of the disk.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Elector, type Revision, type Store, StoreElector } from "@tenure/core";
import { EmbeddedStore } from "@tenure/stores/embedded";
import { type Benchmark, median, table } from "./report.js";

const IN_FLIGHT = [64, 256, 1024] as const;
const ROUNDS = 5;
const TURN_MS = 800;
const TTL_MS = 60_000;

export const embeddedRenew: Benchmark = {
  name: "embedded-renew",
  about: "durable renewals per second over the embedded store, against its bare compare-and-set",
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
    try {
      const store = await EmbeddedStore.open({ directory: join(directory, "store") });
      const rows: string[][] = [];
      for (const inFlight of IN_FLIGHT) rows.push(await measure(store, inFlight));
      await store.close();
      console.log(table(["in flight", "renew, /s", "bare, /s", "renew : bare", "value"], rows));
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function measure(store: Store, inFlight: number): Promise<string[]> {
  const elector = StoreElector.open({ store });
  const groups = Array.from({ length: inFlight }, (_, i) => `${inFlight}/${i}`);
  await Promise.all(groups.map((groupId) => elector.campaign({ ...candidate(groupId), ttlMs: TTL_MS })));
  const value = await recordOf(store, groups[0] ?? "");
  const keys = groups.map((groupId) => new BareKey(`bare/${groupId}`, value));
  const renewals: number[] = [];
  const bares: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const renewal = await perSecond((until) => renewUntil(elector, groups, until));
    const bare = await perSecond((until) => writeUntil(store, keys, until));
    // The first round warms up.
    if (round < 0) continue;
    renewals.push(renewal);
    bares.push(bare);
  }
  await elector.close();
  const ratio = median(renewals.map((each, round) => each / (bares[round] ?? Number.NaN)));
  const thousands = (figures: readonly number[]) => Math.round(median(figures)).toLocaleString("en");
  return [
    String(inFlight),
    thousands(renewals),
    thousands(bares),
    ratio.toFixed(2),
    `${Buffer.byteLength(value)} B`,
  ];
}

function candidate(groupId: string): { groupId: string; nodeId: string; instanceId: string } {
  return { groupId, nodeId: "node-1", instanceId: "node-1-0b5a3c1e-7d0f" };
}

async function perSecond(work: (isOver: () => boolean) => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const count = await work(() => performance.now() - startMs >= TURN_MS);
  return (count * 1000) / (performance.now() - startMs);
}

/** Each group renews again as soon as it is answered. */
async function renewUntil(
  elector: Elector,
  groups: readonly string[],
  isOver: () => boolean,
): Promise<number> {
  let count = 0;
  await Promise.all(
    groups.map(async (groupId) => {
      while (!isOver()) {
        const { kind } = await elector.renew({ ...candidate(groupId), term: 1, ttlMs: TTL_MS });
        if (kind !== "renewed") throw new Error(`a renewal was answered ${kind}`);
        count++;
      }
    }),
  );
  return count;
}

/** As many batches at a time as the store likes, all keys in one of them. */
async function writeUntil(store: Store, keys: readonly BareKey[], isOver: () => boolean): Promise<number> {
  const lanes = Math.min(store.limits.batchesInFlight, keys.length);
  let count = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const mine = keys.filter((_key, index) => index % lanes === lane);
      while (!isOver()) {
        const outcomes = await store.compareAndSet(mine.map((key) => key.op()));
        for (const [index, outcome] of outcomes.entries()) {
          if (outcome.kind !== "swapped") throw new Error(`a write was answered ${outcome.kind}`);
          (mine[index] as BareKey).expected = outcome.revision;
        }
        count += outcomes.length;
      }
    }),
  );
  return count;
}

class BareKey {
  readonly key: string;
  readonly value: string;
  expected: Revision | null = null;

  constructor(key: string, value: string) {
    this.key = key;
    this.value = value;
  }

  op(): { key: string; expected: Revision | null; value: string } {
    return { key: this.key, expected: this.expected, value: this.value };
  }
}

/** The record of a group as the store has it: for values as long as those that Tenure writes. */
export async function recordOf(store: Store, groupId: string): Promise<string> {
  for await (const { entries } of store.feed()) {
    const entry = entries.find(({ key }) => key === `r/${groupId}`);
    if (entry !== undefined) return entry.value;
    break;
  }
  throw new Error(`there is no record of ${groupId}`);
}
