/**
 * Many watchers of one group: what each costs the service in memory, and how long one change of the leader takes to
 * reach them all. The service is a process of its own, the watchers are several, on the same machine.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Benchmark } from "./benchmark.js";
import { Child } from "./child.js";
import { median } from "./median.js";
import { table } from "./table.js";
import type { ServiceAnswer, ServiceQuestion } from "./service-state.js";
import { verdict } from "./verdict.js";
import type { WatchersAnswer, WatchersQuestion } from "./watchers-child.js";

const WATCHERS = 10_000;
const PROCESSES = 4;
const CHANGES = 7;
const MEMORY_TARGET_BYTES = 20 * 1024;
const TTL_MS = 60_000;
const GROUP = "watched";

type Service = Child<ServiceQuestion, ServiceAnswer>;
type Watching = Child<WatchersQuestion, WatchersAnswer>;

export const watchers: Benchmark = {
  name: "watchers",
  about: `${WATCHERS.toLocaleString("en")} SSE watchers of one group: memory of each, and how soon all hear of a change`,
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
    const service: Service = new Child("tenure-child.js", [join(directory, "store")], ["--expose-gc"]);
    const watching: Watching[] = Array.from({ length: PROCESSES }, () => new Child("watchers-child.js"));
    try {
      await measure(service, watching);
    } finally {
      await Promise.all([service, ...watching].map((child) => child.end()));
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function measure(service: Service, watching: readonly Watching[]): Promise<void> {
  const { port } = await service.ask("state");
  // One of each before: what a service makes once is not a watcher's.
  await changeLeader(port, 1);
  const connect = (count: number) => ({ kind: "connect", port, group: GROUP, count }) as const;
  await watching[0]?.ask(connect(PROCESSES));
  const before = await service.ask("state after gc");
  const startMs = performance.now();
  const each = Math.floor(WATCHERS / PROCESSES);
  await Promise.all(
    watching.map((child, index) => child.ask(connect(index === 0 ? each - PROCESSES : each))),
  );
  const openedMs = performance.now() - startMs;
  const idle = await service.ask("state after gc");
  const lastsMs: number[] = [];
  const firstsMs: number[] = [];
  for (let term = 2; term < 2 + CHANGES; term++) {
    const told = watching.map((child) => child.ask({ kind: "told", term }));
    const changedMs = await changeLeader(port, term);
    const answers = await Promise.all(told);
    firstsMs.push(Math.min(...answers.map(({ firstMs }) => firstMs)) - changedMs);
    lastsMs.push(Math.max(...answers.map(({ lastMs }) => lastMs)) - changedMs);
  }
  const used = await service.ask("state after gc");
  const perWatcher = (bytes: number) => bytes / (WATCHERS - PROCESSES);
  const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
  const row = (what: string, { rssBytes, heapBytes }: ServiceAnswer) => [
    what,
    kib(perWatcher(rssBytes - before.rssBytes)),
    kib(perWatcher(heapBytes - before.heapBytes)),
  ];
  console.log(
    table(
      [`${WATCHERS.toLocaleString("en")} watchers`, "RSS, each", "heap, each"],
      [row("connected", idle), row(`after ${CHANGES} changes`, used)],
    ),
  );
  const ms = (values: readonly number[]) => `${median(values).toFixed(0)} ms`;
  console.log(`connecting all: ${(openedMs / 1000).toFixed(1)} s`);
  console.log(
    `a change reaches the first after ${ms(firstsMs)}, the last after ${ms(lastsMs)} (medians of ${CHANGES})`,
  );
  const rssBytes = perWatcher(Math.max(idle.rssBytes, used.rssBytes) - before.rssBytes);
  const target = `under ${kib(MEMORY_TARGET_BYTES)}`;
  console.log(verdict("memory per watcher, RSS", kib(rssBytes), target, rssBytes < MEMORY_TARGET_BYTES));
}

/** A campaign of another node, after the present leader has resigned. Returns when it was sent. */
async function changeLeader(port: number, term: number): Promise<number> {
  const act = async (verb: string, body: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/groups/${GROUP}/${verb}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${verb} was answered ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  if (term > 1) await act("resign", { node_id: `node-${term - 1}`, term: term - 1 });
  const sentMs = Number(process.hrtime.bigint()) / 1e6;
  await act("campaign", { node_id: `node-${term}`, lease_ttl_ms: TTL_MS });
  return sentMs;
}
