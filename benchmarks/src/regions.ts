/**
 * Elections between regions: three members of etcd and a node beside each of them, joined by links with a delay, jitter and
 * losses. What is measured stands beside what `tenure plan` predicts for it.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isMissing, type Link, RegionNetwork, startEtcd } from "@tenure/engines";
import { Child } from "./child.js";
import { type Measured, measuredOf } from "./contest.js";
import { type Benchmark, median, table } from "./report.js";

export type RegionQuestion =
  | { readonly kind: "renew"; readonly groups: number; readonly rounds: number }
  | { readonly kind: "hold"; readonly ttlsMs: readonly number[]; readonly durationMs: number }
  | { readonly kind: "lead" | "wait"; readonly groupId: string; readonly ttlMs: number }
  | { readonly kind: "elected" };

/** How a leader with this ttl fared. */
export interface HeldTtl {
  readonly ttlMs: number;
  readonly renewed: number;
  readonly failed: number;
  readonly lost: number;
}

export interface RegionAnswer {
  readonly latenciesMs?: number[];
  readonly held?: readonly HeldTtl[];
  readonly atMs?: number;
}

type Node = Child<RegionQuestion, RegionAnswer>;

interface Prediction {
  readonly shortest_ttl_ms: number | null;
  readonly crash: { readonly best_ms: number; readonly worst_ms: number };
}

const REGIONS = ["eu", "us", "asia"];
const RTTS_MS = [30, 80, 150];
const LOSS = 0.005;
const TTLS_MS = [500, 750, 1000, 1500, 2000, 3000, 5000];
const HOLD_MS = 20_000;
const CRASH_TTL_MS = 3000;
const CRASHES = 3;
const TENURE = fileURLToPath(new URL("../../packages/cli/bin/tenure.js", import.meta.url));

interface Row {
  readonly rttMs: number;
  /** The latency of renewals from the regions with the fastest and the slowest writes. */
  readonly nearest: Measured;
  readonly farthest: Measured;
  readonly held: readonly HeldTtl[];
  readonly crashesMs: readonly number[];
  readonly predicted: Prediction;
}

export const regions: Benchmark = {
  name: "regions",
  about: "elections between three regions with round trips of 30, 80 and 150 ms, over etcd",
  async run() {
    if (isMissing("etcd") || isMissing("ip") || RegionNetwork.isMissing()) {
      console.log("passed by: it needs etcd, ip, root and /dev/net/tun");
      return "met";
    }
    const rows: Row[] = [];
    for (const rttMs of RTTS_MS) rows.push(await measure(rttMs));
    return report(rows);
  },
};

async function measure(rttMs: number): Promise<Row> {
  const network = await RegionNetwork.open(REGIONS);
  const nodes: Node[] = [];
  try {
    const link: Link = { rttMs, jitterMs: rttMs / 20, loss: LOSS };
    const machines = REGIONS.map((name) => network.machine(name));
    // As etcd advises: a heartbeat takes a round trip, and an election ten of them.
    const heartbeatMs = Math.max(100, rttMs);
    const args = [
      "--heartbeat-interval",
      String(heartbeatMs),
      "--election-timeout",
      String(10 * heartbeatMs),
    ];
    await using etcd = await startEtcd({ nodes: 3, machines, args });
    await network.set(link);
    const start = (index: number, name: string): Node => {
      const { inside } = network.machine(REGIONS[index] ?? "");
      const node: Node = new Child("regions-child.js", [etcd.url, name], [], inside);
      nodes.push(node);
      return node;
    };
    const all = REGIONS.map((name, index) => start(index, name));
    // One of them is beside the leader of etcd; from the others a write travels twice.
    const renewals = await Promise.all(
      all.map(async (node) => {
        const { latenciesMs = [] } = await node.ask({ kind: "renew", groups: 10, rounds: 10 });
        return measuredOf(latenciesMs, 1, 1);
      }),
    );
    renewals.sort((a, b) => a.p50Ms - b.p50Ms);
    const [nearest, farthest] = [renewals[0], renewals.at(-1)];
    const [first] = all;
    if (first === undefined || nearest === undefined || farthest === undefined)
      throw new Error("there are regions");
    const { held = [] } = await first.ask({ kind: "hold", ttlsMs: TTLS_MS, durationMs: HOLD_MS });
    const crashesMs: number[] = [];
    for (let round = 0; round < CRASHES; round++) {
      const [leader, waiting] = [start(1, `leads-${round}`), start(2, `waits-${round}`)];
      const group = { groupId: `crash/${round}`, ttlMs: CRASH_TTL_MS };
      await leader.ask({ kind: "lead", ...group });
      await waiting.ask({ kind: "wait", ...group });
      await new Promise((resolve) => setTimeout(resolve, 500 + 300 * round));
      const crashedAtMs = process.hrtime.bigint();
      await leader.end();
      await waiting.ask({ kind: "elected" });
      crashesMs.push(Number(process.hrtime.bigint() - crashedAtMs) / 1e6);
      await waiting.end();
    }
    return { rttMs, nearest, farthest, held, crashesMs, predicted: await predict(rttMs, farthest.p50Ms) };
  } finally {
    await Promise.all(nodes.map((node) => node.end()));
    network.close();
  }
}

/** From the nodes to the store and back, and what the store takes besides. */
async function predict(rttMs: number, renewalMs: number): Promise<Prediction> {
  const write = Math.max(0, Math.round(renewalMs - rttMs));
  const options = ["--ttl", CRASH_TTL_MS, "--rtt", rttMs, "--write", write].map((each) =>
    typeof each === "number" ? `${each}ms` : each,
  );
  const args = [TENURE, "plan", ...options, "--servers", "0", "--nodes", "2", "--json"];
  // Its exit code says that the ttl has a problem; the figures are the same.
  const { stdout } = await promisify(execFile)(process.execPath, args).catch(
    (error: unknown) => error as { stdout: string },
  );
  return JSON.parse(stdout) as Prediction;
}

function report(rows: readonly Row[]): "met" | "missed" {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const head = [
    "round trip",
    "renew p50 / p99, nearest",
    "farthest",
    "ttls that lost a lease",
    "never renewed",
    "shortest safe ttl",
    "plan: shortest",
    "failover",
    "plan",
  ];
  console.log(
    table(
      head,
      rows.map(({ rttMs, nearest, farthest, held, crashesMs, predicted }) => [
        `${rttMs} ms`,
        `${nearest.p50Ms.toFixed(0)} / ${nearest.p99Ms.toFixed(0)} ms`,
        `${farthest.p50Ms.toFixed(0)} / ${farthest.p99Ms.toFixed(0)} ms`,
        ttlsOf(held, ({ lost }) => lost > 0),
        ttlsOf(held, ({ renewed }) => renewed === 0),
        `${safeTtlMs(held) ?? "none"} ms`,
        `${predicted.shortest_ttl_ms} ms`,
        `${seconds(median(crashesMs))} (${crashesMs.map((ms) => (ms / 1000).toFixed(1)).join(", ")})`,
        `${seconds(predicted.crash.best_ms)} to ${seconds(predicted.crash.worst_ms)}`,
      ]),
    ),
  );
  const renewals = rows.flatMap(({ held }) => held);
  const sum = (of: "renewed" | "failed"): number => renewals.reduce((total, each) => total + each[of], 0);
  console.log(
    `jitter 10 % of the round trip, ${LOSS * 100} % of packets lost; ${sum("renewed")} renewals, ${sum("failed")} of them late or failed; failover with a ttl of ${seconds(CRASH_TTL_MS)}`,
  );
  // What the plan recommends must have held.
  const isMet = rows.every(({ held, predicted: { shortest_ttl_ms: planned } }) =>
    held.every(({ ttlMs, lost, renewed }) => (lost === 0 && renewed > 0) || ttlMs < (planned ?? 0)),
  );
  console.log(`no lease with a ttl that tenure plan recommends was lost: ${isMet ? "met" : "MISSED"}`);
  return isMet ? "met" : "missed";
}

/** The shortest ttl that lost nothing, and no longer one did. */
function safeTtlMs(held: Row["held"]): number | null {
  const unsafe = Math.max(
    0,
    ...held.filter(({ lost, renewed }) => lost > 0 || renewed === 0).map(({ ttlMs }) => ttlMs),
  );
  return held.find(({ ttlMs }) => ttlMs > unsafe)?.ttlMs ?? null;
}

function ttlsOf(held: Row["held"], isMeant: (each: HeldTtl) => boolean): string {
  const ttls = held.filter(isMeant).map(({ ttlMs }) => ttlMs);
  return ttls.length === 0 ? "none" : ttls.join(" ");
}
