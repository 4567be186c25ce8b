/** `npm run bench -- [NAME…] [--store ENGINE] [--beside DIR]`: runs the named benchmarks, or all, one after the other. */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { scriptIn } from "./child.js";
import { cliffs } from "./cliffs.js";
import { electorCost } from "./elector-cost.js";
import { embeddedRenew } from "./embedded-renew.js";
import { engineBenchmarks } from "./engines.js";
import { failedDisk } from "./failed-disk.js";
import { hotPath } from "./hot-path.js";
import { httpThroughput } from "./http-throughput.js";
import { leadAgain } from "./lead-again.js";
import { regions } from "./regions.js";
import type { Benchmark } from "./report.js";
import { startUp } from "./start-up.js";
import { watchers } from "./watchers.js";

const BENCHMARKS: readonly Benchmark[] = [
  electorCost,
  cliffs,
  embeddedRenew,
  failedDisk,
  hotPath,
  httpThroughput,
  leadAgain,
  startUp,
  watchers,
  regions,
  ...engineBenchmarks,
];
const STORES = BENCHMARKS.flatMap(({ store }) => store ?? []);

const USAGE = `npm run bench -- [NAME…] [--store ENGINE] [--beside DIR]

Runs the named benchmarks, or all. Figures that belong together are measured in one run: compare ratios, not runs.

${BENCHMARKS.map(({ name, about }) => `  ${name.padEnd(16)} ${about}`).join("\n")}

--store ENGINE runs what is about that engine (${STORES.join(", ")}), and may be given more than once. An engine that is
not installed is passed by.

--beside DIR compares this build with the one in another checkout of this repository, which must be built. Only these
benchmarks can: ${BENCHMARKS.filter(({ beside }) => beside !== undefined)
  .map(({ name }) => name)
  .join(", ")}.
`;

process.exitCode = await main();

async function main(): Promise<number> {
  let chosen: readonly Benchmark[];
  let checkout: string | undefined;
  try {
    const { values, positionals } = parseArgs({
      options: {
        help: { type: "boolean" },
        store: { type: "string", multiple: true },
        beside: { type: "string" },
      },
      allowPositionals: true,
    });
    if (values.help === true) {
      console.log(USAGE);
      return 0;
    }
    checkout = values.beside;
    chosen = choose(positionals, values.store ?? []);
    if (checkout !== undefined) chosen = comparable(chosen, checkout, positionals);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  let code = 0;
  for (const benchmark of chosen) {
    console.log(`${benchmark.name}: ${benchmark.about}\n`);
    if (checkout !== undefined) await benchmark.beside?.(checkout);
    else if ((await benchmark.run()) === "missed") code = 1;
    console.log();
  }
  return code;
}

function choose(names: readonly string[], stores: readonly string[]): readonly Benchmark[] {
  const unknown = names.filter((name) => BENCHMARKS.every((benchmark) => benchmark.name !== name));
  if (unknown.length > 0) throw new Error(`there is no benchmark ${unknown.join(", ")}`);
  const unmeasured = stores.filter((store) => !STORES.includes(store));
  if (unmeasured.length > 0) throw new Error(`there is no benchmark of a store ${unmeasured.join(", ")}`);
  if (names.length === 0 && stores.length === 0) return BENCHMARKS;
  return BENCHMARKS.filter(
    ({ name, store }) => names.includes(name) || (store !== undefined && stores.includes(store)),
  );
}

function comparable(
  chosen: readonly Benchmark[],
  checkout: string,
  names: readonly string[],
): readonly Benchmark[] {
  if (!existsSync(scriptIn(checkout, "main.js")))
    throw new Error(`--beside ${checkout}: there is no build of this repository; run npm run build there`);
  const left = chosen.filter(({ name, beside }) => beside === undefined && names.includes(name));
  if (left.length > 0) throw new Error(`--beside is not for ${left.map(({ name }) => name).join(", ")}`);
  return chosen.filter(({ beside }) => beside !== undefined);
}
