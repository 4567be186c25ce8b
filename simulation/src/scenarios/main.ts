/**
 * `npm run scenarios -- [--write] [NAME…]` plays the scenarios, or those whose file name contains a NAME, and shows where they
 * differ from their files. `--write` rewrites what is below `----`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PEER_SCENARIOS } from "../peers/peer-scenarios.js";
import { ELECTOR_SCENARIOS } from "./elector-scenarios.js";
import { play, ROOT, scenariosOf, type ScenarioWorld } from "./scenario-world.js";

interface Options {
  readonly isWriting: boolean;
  readonly names: readonly string[];
}

/** How many scenarios were played, and how many are not as their files say. */
interface Count {
  readonly played: number;
  readonly wrong: number;
}

async function playAll<Stage extends { close(): void }, Modules>(
  world: ScenarioWorld<Stage, Modules>,
  { isWriting, names }: Options,
): Promise<Count> {
  const modules = await world.load();
  const chosen = scenariosOf(world).filter(
    ({ file }) => names.length === 0 || names.some((name) => file.includes(name)),
  );
  let wrong = 0;
  for (const scenario of chosen) {
    const { file } = scenario;
    const { text } = await play(world, scenario, modules);
    if (text === scenario.text) continue;
    print(`${file} ${isWriting ? "rewritten" : "differs"}:`);
    print(firstDifference(scenario.text, text));
    if (isWriting) writeFileSync(join(ROOT, file), text);
    else wrong++;
    if (!text.includes("VIOLATION")) continue;
    print("  A scenario with a VIOLATION fails its test, also if the file expects it.");
    wrong += isWriting ? 1 : 0;
  }
  return { played: chosen.length, wrong };
}

function firstDifference(expected: string, actual: string): string {
  const [before, after] = [expected.split("\n"), actual.split("\n")];
  const at = after.findIndex((line, i) => line !== before[i]);
  const i = at === -1 ? after.length : at;
  return [`  line ${i + 1}`, `  - ${before[i] ?? ""}`, `  + ${after[i] ?? ""}`].join("\n");
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { write: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const options = { isWriting: values.write, names: positionals };
  const counts = [await playAll(ELECTOR_SCENARIOS, options), await playAll(PEER_SCENARIOS, options)];
  const sum = (figure: keyof Count): number => counts.reduce((total, count) => total + count[figure], 0);
  print(`${sum("played")} scenarios played, ${sum("wrong")} wrong`);
  if (sum("played") > 0) return sum("wrong") === 0 ? 0 : 1;
  print(`no scenario is named ${positionals.join(" or ")}; the names are those of the files`);
  return 2;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
