/**
 * What stands between a socket and the core: CPU time per request of the service on a store in memory, beside bare routes, in
 * one process without sockets. The disk, the kernel and the load generator, which cost more than the differences between
 * two builds, take no part. `http` measures the same with all of them.
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Costs } from "./hot-path-child.js";
import { type Benchmark, median, table, verdict } from "./report.js";
import type { Load } from "./service-load.js";

/** Processes: V8 optimises the same code differently in each. */
const PROCESSES = 3;
/**
 * Bare Fastify costs this share of a renewal, as measured when the hot path was last worked on. A build whose renewals cost a
 * quarter more fails. It is the best process that counts: whatever else the machine does makes a renewal dearer, not cheaper.
 */
const RECORDED_SHARE = 0.47;
const MIN_SHARE = RECORDED_SHARE / 1.25;
const SERVER = "packages/server/dist/index.js";
const OWN = fileURLToPath(new URL("../../", import.meta.url));
const ROWS: readonly (readonly [verb: Load["verb"], what: string])[] = [
  ["renew", "renew"],
  ["leader", "linearizable leader"],
  ["renew-many", "renewal in a list of 100"],
];

export const hotPath: Benchmark = {
  name: "hot-path",
  about: "CPU time of the service per request, without sockets and disk, against bare routes",
  async run() {
    const runs = measure(["this build"], [OWN]);
    const share = Math.max(...runs.map((costs) => ratio([costs], "renew", 1, 0)));
    const isMet = share >= MIN_SHARE;
    console.log(
      verdict(
        "bare Fastify to a renewal, best process",
        share.toFixed(2),
        `at least ${MIN_SHARE.toFixed(2)}`,
        isMet,
      ),
    );
    return isMet ? "met" : "missed";
  },
  async beside(checkout) {
    measure(["this build", "other build"], [OWN, resolve(checkout)]);
  },
};

type Run = readonly Costs[];

function measure(names: readonly string[], checkouts: readonly string[]): readonly Run[] {
  const runs = Array.from({ length: PROCESSES }, () => hotPathCosts(checkouts));
  const head = ["µs each", ...names, "Fastify", "node:http"];
  const rows = ROWS.map(([verb, what]) => [
    what,
    ...[...names, "", ""].map((_, index) => {
      const all = runs.flatMap((costs) => costs[index]?.[verb] ?? []);
      return all.length === 0 ? "–" : median(all).toFixed(1);
    }),
  ]);
  console.log(table(head, rows));
  for (const [verb, what] of ROWS) {
    if (names.length > 1)
      console.log(`${what}, this build to the other: ${ratio(runs, verb, 0, 1).toFixed(2)}`);
    if (verb !== "renew-many")
      console.log(
        `${what}, bare Fastify to this build: ${ratio(runs, verb, names.length, 0).toFixed(2)}; ` +
          `bare node:http: ${ratio(runs, verb, names.length + 1, 0).toFixed(2)}`,
      );
  }
  return runs;
}

/** The median over all rounds of the cost of one contestant divided by that of another in the same round. */
function ratio(runs: readonly Run[], verb: Load["verb"], dividend: number, divisor: number): number {
  return median(
    runs.flatMap(
      (costs) => costs[dividend]?.[verb].map((each, i) => each / (costs[divisor]?.[verb][i] ?? NaN)) ?? [],
    ),
  );
}

/** In a process of its own: the services in these checkouts, then bare Fastify and bare node:http. */
function hotPathCosts(checkouts: readonly string[]): Run {
  const script = fileURLToPath(new URL("hot-path-child.js", import.meta.url));
  const entries = checkouts.map((checkout) => resolve(checkout, SERVER));
  const child = spawnSync(process.execPath, [script, ...entries], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.status !== 0) throw new Error(`the measurement ended with ${child.status}`);
  return JSON.parse(child.stdout) as Costs[];
}
