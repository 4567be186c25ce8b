/**
 * Requests per second over HTTP, against bare Fastify routes with the same schemas that do nothing: durable renewals on
 * the embedded store, and linearizable reads of the leader. Service, bare service and load are processes of their own.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, scriptIn } from "./child.js";
import { type ContestResult, hold, report, warmUp } from "./contest.js";
import type { Benchmark } from "./report.js";
import { type Generator, loadedService, type Service } from "./service-load.js";

const CONNECTIONS = [64, 128, 256] as const;
const TARGETS = { renew: 0.8, leader: 0.85 } as const;

export const httpThroughput: Benchmark = {
  name: "http",
  about: "durable renewals and linearizable reads per second over HTTP, against bare Fastify routes",
  async run() {
    const results = await against(() => new Child("bare-child.js"), TARGETS);
    report(results, "bare", "bare Fastify");
  },
  async beside(checkout) {
    const results = await against(
      (directory) =>
        new Child(scriptIn(checkout, "tenure-child.js"), [`embedded:${join(directory, "other")}`]),
      { renew: null, leader: null },
    );
    report(results, "other build", "the other build");
  },
};

type Targets = Readonly<Record<"renew" | "leader", number | null>>;

async function against(start: (directory: string) => Service, targets: Targets): Promise<ContestResult[]> {
  const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
  const tenure: Service = new Child("tenure-child.js", [`embedded:${join(directory, "store")}`]);
  const other = start(directory);
  const generator: Generator = new Child("load-child.js");
  try {
    return await measure(generator, tenure, other, targets);
  } finally {
    await Promise.all([tenure.end(), other.end(), generator.end()]);
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(
  generator: Generator,
  tenure: Service,
  other: Service,
  targets: Targets,
): Promise<ContestResult[]> {
  const results: ContestResult[] = [];
  for (const verb of ["renew", "leader"] as const) {
    for (const connections of CONNECTIONS) {
      const contest = {
        what: `${verb}, ${connections} connections`,
        tenure: loadedService(tenure, generator, { verb, connections }),
        other: loadedService(other, generator, { verb, connections }),
        target: targets[verb],
      };
      if (connections === CONNECTIONS[0]) await warmUp(contest.tenure, contest.other);
      results.push(await hold(contest));
    }
  }
  return results;
}
