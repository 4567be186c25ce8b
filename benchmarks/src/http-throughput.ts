/**
 * Requests per second over HTTP, against bare Fastify routes with the same schemas that do nothing: durable renewals on
 * the embedded store, and linearizable reads of the leader. Service, bare service and load are processes of their own;
 * the two services take turns, and the ratio is the median of the rounds.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Benchmark } from "./benchmark.js";
import { Child } from "./child.js";
import type { Load, Measured } from "./load-child.js";
import { median } from "./median.js";
import { table } from "./table.js";
import type { ServiceAnswer, ServiceQuestion } from "./service-state.js";
import { verdict } from "./verdict.js";

const CONNECTIONS = [64, 128, 256] as const;
const TARGETS = { renew: 0.8, leader: 0.85 } as const;
const ROUNDS = 7;
const TURN_MS = 1000;
const WARM_UP_MS = 3000;

const WHICH = ["tenure", "bare"] as const;

type Which = (typeof WHICH)[number];
type Verb = Load["verb"];
type Service = Child<ServiceQuestion, ServiceAnswer>;
type Generator = Child<Load, Measured>;

interface Result {
  readonly verb: Verb;
  readonly connections: number;
  readonly tenure: Turn[];
  readonly bare: Turn[];
}

interface Turn extends Measured {
  /** CPU time of the service per request: what noise on the machine changes least. */
  readonly cpuUs: number;
}

export const httpThroughput: Benchmark = {
  name: "http",
  about: "durable renewals and linearizable reads per second over HTTP, against bare Fastify routes",
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
    const tenure: Service = new Child("tenure-child.js", [join(directory, "store")]);
    const bare: Service = new Child("bare-child.js");
    const generator: Generator = new Child("load-child.js");
    try {
      report(await measure(generator, { tenure, bare }));
    } finally {
      await Promise.all([tenure.end(), bare.end(), generator.end()]);
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function measure(
  generator: Generator,
  services: Readonly<Record<Which, Service>>,
): Promise<readonly Result[]> {
  const turn = async (which: Which, verb: Verb, connections: number, turnMs: number): Promise<Turn> => {
    const before = await services[which].ask("state");
    const measured = await generator.ask({ port: before.port, verb, connections, turnMs });
    const { cpuMs } = await services[which].ask("state");
    return { ...measured, cpuUs: ((cpuMs - before.cpuMs) * 1000) / measured.count };
  };
  const results: Result[] = [];
  for (const verb of ["renew", "leader"] as const) {
    for (const which of WHICH) await turn(which, verb, CONNECTIONS[0], WARM_UP_MS);
    for (const connections of CONNECTIONS) {
      const result: Result = { verb, connections, tenure: [], bare: [] };
      results.push(result);
      for (let round = 0; round < ROUNDS; round++) {
        // Each goes first every other time.
        for (const which of round % 2 === 0 ? WHICH : WHICH.toReversed()) {
          result[which].push(await turn(which, verb, connections, TURN_MS));
        }
      }
    }
  }
  return results;
}

function report(results: readonly Result[]): void {
  const of = (turns: readonly Turn[], field: keyof Turn) => median(turns.map((turn) => turn[field]));
  const rate = (turns: readonly Turn[]) => Math.round(of(turns, "perSecond")).toLocaleString("en");
  const ms = (turns: readonly Turn[]) =>
    `${of(turns, "p50Ms").toFixed(1)} / ${of(turns, "p99Ms").toFixed(1)}`;
  const us = (turns: readonly Turn[]) => of(turns, "cpuUs").toFixed(0);
  const rows = results.map(({ verb, connections, tenure, bare }) => [
    `${verb}, ${connections} connections`,
    rate(tenure),
    rate(bare),
    ratioOf({ tenure, bare }).toFixed(2),
    ms(tenure),
    ms(bare),
    us(tenure),
    us(bare),
  ]);
  const head = ["", "tenure, /s", "bare, /s", "ratio", "p50 / p99, ms", "bare", "CPU, µs each", "bare"];
  console.log(table(head, rows));
  for (const result of results) {
    const target = TARGETS[result.verb];
    const ratio = ratioOf(result);
    const what = `${result.verb} at ${result.connections} connections, of bare Fastify`;
    console.log(verdict(what, ratio.toFixed(2), `at least ${target}`, ratio >= target));
  }
}

function ratioOf({ tenure, bare }: Pick<Result, Which>): number {
  return median(tenure.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN)));
}
