/**
 * Requests per second and CPU time per request over HTTP: durable renewals on the embedded store, one by one and in lists of 100,
 * and linearizable reads of the leader. Against bare Fastify routes with the same schemas that do nothing, and against bare
 * node:http. Service, bare service and load are processes of their own.
 *
 * The targets are for CPU time: at a high rate the load generator, not a bare route, is what limits the requests per second.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, scriptIn } from "./child.js";
import { type ContestResult, hold, report, warmUp } from "./contest.js";
import { type Benchmark, median, verdict } from "./report.js";
import { type Generator, type Load, loadedService, type Service } from "./service-load.js";

const CONNECTIONS = [64, 128, 256] as const;
const LISTS = [32] as const;
const LISTED_TARGET_US = 12;

/** The least CPU ratio by number of connections. */
type Targets = Readonly<Partial<Record<Load["verb"], readonly number[]>>>;
const TARGETS: Targets = { renew: [0.65, 0.75, 0.75], leader: [0.8, 0.8, 0.8] };

export const httpThroughput: Benchmark = {
  name: "http",
  about:
    "rate and CPU of durable renewals and linearizable reads over HTTP, against bare Fastify and node:http",
  async run() {
    for (const [name, targets] of [["fastify", TARGETS] as const, ["node", {}] as const]) {
      const verbs = name === "fastify" ? ALL : SINGLE;
      const results = await against(() => new Child("bare-child.js", [name]), verbs, targets);
      const sentence = name === "fastify" ? "bare Fastify" : "bare node:http";
      report(results, name, sentence);
      for (const { what, tenure } of results) {
        if (!what.startsWith("renew-many")) continue;
        const us = median(tenure.map(({ cpuUs }) => cpuUs));
        const target = `at most ${LISTED_TARGET_US} µs`;
        console.log(
          verdict("CPU of a listed renewal", `${us.toFixed(1)} µs`, target, us <= LISTED_TARGET_US),
        );
      }
      console.log();
    }
  },
  async beside(checkout) {
    const results = await against(
      (directory) =>
        new Child(scriptIn(checkout, "tenure-child.js"), [`embedded:${join(directory, "other")}`]),
      ALL,
      {},
    );
    report(results, "other build", "the other build");
  },
};

const SINGLE: readonly Load["verb"][] = ["renew", "leader"];
const ALL: readonly Load["verb"][] = [...SINGLE, "renew-many"];

async function against(
  start: (directory: string) => Service,
  verbs: readonly Load["verb"][],
  targets: Targets,
): Promise<ContestResult[]> {
  const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
  const tenure: Service = new Child("tenure-child.js", [`embedded:${join(directory, "store")}`]);
  const other = start(directory);
  const generator: Generator = new Child("load-child.js");
  try {
    return await measure({ generator, tenure, other }, verbs, targets);
  } finally {
    await Promise.all([tenure.end(), other.end(), generator.end()]);
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(
  {
    generator,
    tenure,
    other,
  }: { readonly generator: Generator; readonly tenure: Service; readonly other: Service },
  verbs: readonly Load["verb"][],
  targets: Targets,
): Promise<ContestResult[]> {
  const results: ContestResult[] = [];
  for (const verb of verbs) {
    for (const [index, connections] of (verb === "renew-many" ? LISTS : CONNECTIONS).entries()) {
      const contest = {
        what: `${verb}, ${connections} connections`,
        tenure: loadedService(tenure, generator, { verb, connections }),
        other: loadedService(other, generator, { verb, connections }),
        target: targets[verb]?.[index] ?? null,
        targetOf: "cpuRatio" as const,
      };
      if (index === 0) await warmUp(contest.tenure, contest.other);
      results.push(await hold(contest));
    }
  }
  return results;
}
