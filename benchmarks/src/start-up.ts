/**
 * How long simple commands of `tenure` take from their start to their end, beside `node -e 0`, which is the floor, and `tenure serve`
 * from its start until it listens.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Child } from "./child.js";
import { type Benchmark, median, table, verdict } from "./report.js";
import type { Service } from "./service-load.js";

const SCRIPT = "packages/cli/bin/tenure.js";
const OWN = fileURLToPath(new URL("../../", import.meta.url));
const COMMAND = resolve(OWN, SCRIPT);
const ROUNDS = 9;
const TARGET_MS = 150;
const COMMANDS: readonly (readonly string[])[] = [
  ["--version"],
  ["--help"],
  ["run", "--help"],
  ["leader", "g"],
  ["groups", "list"],
  ["why", "g"],
];

export const startUp: Benchmark = {
  name: "start-up",
  about: `simple commands from start to end, beside node alone: under ${TARGET_MS} ms each; the start of a server`,
  async run() {
    const server: Service = new Child("tenure-child.js", ["memory:"]);
    try {
      const { port } = await server.ask("state");
      const env = { ...process.env, TENURE_SERVER: `http://127.0.0.1:${port}` };
      tookMs([COMMAND, "campaign", "g", "--node-id", "a", "--ttl", "60s"], env);
      const all = [["-e", "0"], ...COMMANDS.map((args) => [COMMAND, ...args])];
      const figures = all.map((): number[] => []);
      // In turns, so that whatever else the machine does slows all of them down.
      for (let round = 0; round < ROUNDS; round++)
        for (const [index, args] of all.entries()) figures[index]?.push(tookMs(args, env));
      const rows = ["node -e 0", ...COMMANDS.map((args) => `tenure ${args.join(" ")}`)].map((name, index) => {
        const sorted = figures[index] ?? [];
        return [name, Math.min(...sorted).toFixed(0), median(sorted).toFixed(0)];
      });
      console.log(table(["ms", "best", "median"], rows));
      console.log(table(["tenure serve until it listens, ms", "best", "median"], await starts([OWN])));
      const slowest = Math.max(...figures.map(median));
      const isMet = slowest < TARGET_MS;
      console.log(verdict("slowest command", `${slowest.toFixed(0)} ms`, `under ${TARGET_MS} ms`, isMet));
    } finally {
      await server.end();
    }
  },
  async beside(checkout) {
    const rows = await starts([OWN, checkout]);
    console.log(table(["tenure serve until it listens, ms", "best", "median"], rows));
  },
};

/** A row for the server in each checkout: this build, then the other. */
async function starts(checkouts: readonly string[]): Promise<string[][]> {
  const figures = checkouts.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, checkout] of checkouts.entries()) figures[index]?.push(await listensAfterMs(checkout));
  return figures.map((each, index) => [
    ["this build", "other build"][index] ?? "",
    Math.min(...each).toFixed(0),
    median(each).toFixed(0),
  ]);
}

async function listensAfterMs(checkout: string): Promise<number> {
  const args = [resolve(checkout, SCRIPT), "serve", "--store", "memory:", "--listen", "127.0.0.1:0"];
  const startMs = performance.now();
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(server, "exit");
  try {
    for await (const line of createInterface({ input: server.stdout }))
      if (line.startsWith("tenure listening on ")) return performance.now() - startMs;
    throw new Error(`the server in ${checkout} ended before it listened`);
  } finally {
    server.kill("SIGKILL");
    await exited;
  }
}

function tookMs(args: readonly string[], env: NodeJS.ProcessEnv): number {
  const startMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [...args], { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${String(status)}: ${stderr}`);
  return performance.now() - startMs;
}
