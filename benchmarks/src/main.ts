/** `npm run bench -- [NAME…]`: runs the named benchmarks, or all of them, one after the other. */
import { parseArgs } from "node:util";
import type { Benchmark } from "./benchmark.js";
import { electorCost } from "./elector-cost.js";
import { embeddedRenew } from "./embedded-renew.js";
import { httpThroughput } from "./http-throughput.js";
import { watchers } from "./watchers.js";

const BENCHMARKS: readonly Benchmark[] = [electorCost, embeddedRenew, httpThroughput, watchers];

const USAGE = `npm run bench -- [NAME…]

Runs the named benchmarks, or all. Figures that belong together are measured in one run: compare ratios, not runs.

${BENCHMARKS.map(({ name, about }) => `  ${name.padEnd(16)} ${about}`).join("\n")}
`;

process.exitCode = await main();

async function main(): Promise<number> {
  let names: readonly string[];
  try {
    const { values, positionals } = parseArgs({
      options: { help: { type: "boolean" } },
      allowPositionals: true,
    });
    if (values.help === true) {
      console.log(USAGE);
      return 0;
    }
    names = positionals;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  const unknown = names.filter((name) => BENCHMARKS.every((benchmark) => benchmark.name !== name));
  if (unknown.length > 0) {
    console.error(`there is no benchmark ${unknown.join(", ")}\n\n${USAGE}`);
    return 2;
  }
  for (const benchmark of BENCHMARKS) {
    if (names.length > 0 && !names.includes(benchmark.name)) continue;
    console.log(`${benchmark.name}: ${benchmark.about}\n`);
    await benchmark.run();
    console.log();
  }
  return 0;
}
