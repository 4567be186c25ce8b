/**
 * Many watchers of one group: what each costs the service in memory, and how long one change of the leader takes to
 * reach them all. The service is a process of its own, the watchers are several, on the same machine.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "./child.js";
import { type Benchmark, median, table, verdict } from "./report.js";
import type { ServiceAnswer, ServiceQuestion } from "./service-load.js";
import type { WatchersAnswer, WatchersQuestion } from "./watchers-child.js";

const WATCHERS = 10_000;
const PROCESSES = 4;
const CHANGES = 7;
const MEMORY_TARGET_BYTES = 20 * 1024;
const TTL_MS = 60_000;
const GROUP = "watched";
const OTHER = "another";

type Service = Child<ServiceQuestion, ServiceAnswer>;
type Watching = Child<WatchersQuestion, WatchersAnswer>;

export const watchers: Benchmark = {
  name: "watchers",
  about: `${WATCHERS.toLocaleString("en")} SSE watchers of one group: memory of each, and how soon all hear of a change`,
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "tenure-bench-"));
    const service: Service = new Child(
      "tenure-child.js",
      [`embedded:${join(directory, "store")}`],
      ["--expose-gc"],
    );
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
  await campaign(port, 1);
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
  const changes: Change[] = [];
  for (let term = 2; term < 2 + CHANGES; term++) {
    const tell = (type: "LEADER_CHANGED" | "LEADER_LOST", of: number) =>
      Promise.all(watching.map((child) => child.ask({ kind: "told", type, term: of })));
    const vacant = tell("LEADER_LOST", term - 1);
    await resign(port, term - 1);
    await vacant;
    changes.push(await renewingMeanwhile(port, tell("LEADER_CHANGED", term), () => campaign(port, term)));
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
  const ms = (field: keyof Change) => `${median(changes.map((change) => change[field])).toFixed(0)} ms`;
  console.log(`connecting all: ${(openedMs / 1000).toFixed(1)} s`);
  console.log(
    `a change reaches the first after ${ms("firstMs")}, the last after ${ms("lastMs")}; a renewal of another group takes ` +
      `${ms("renewalMs")} meanwhile at worst (medians of ${CHANGES})`,
  );
  const rssBytes = perWatcher(Math.max(idle.rssBytes, used.rssBytes) - before.rssBytes);
  const target = `under ${kib(MEMORY_TARGET_BYTES)}`;
  console.log(verdict("memory per watcher, RSS", kib(rssBytes), target, rssBytes < MEMORY_TARGET_BYTES));
}

interface Change {
  readonly firstMs: number;
  readonly lastMs: number;
  /** The slowest renewal of another group until then. */
  readonly renewalMs: number;
}

async function renewingMeanwhile(
  port: number,
  told: Promise<readonly WatchersAnswer[]>,
  change: () => Promise<void>,
): Promise<Change> {
  await act(port, OTHER, "campaign", { node_id: "node", lease_ttl_ms: TTL_MS });
  let isTold = false;
  let renewalMs = 0;
  const changedMs = nowMs();
  const changed = change();
  const renewing = (async () => {
    while (!isTold) {
      const sentMs = nowMs();
      await act(port, OTHER, "renew", { node_id: "node", term: 1, extend_by_ms: TTL_MS });
      renewalMs = Math.max(renewalMs, nowMs() - sentMs);
    }
  })();
  await changed;
  const answers = await told;
  isTold = true;
  await renewing;
  return {
    firstMs: Math.min(...answers.map(({ firstMs }) => firstMs)) - changedMs,
    lastMs: Math.max(...answers.map(({ lastMs }) => lastMs)) - changedMs,
    renewalMs,
  };
}

function campaign(port: number, term: number): Promise<void> {
  return act(port, GROUP, "campaign", { node_id: `node-${term}`, lease_ttl_ms: TTL_MS });
}

function resign(port: number, term: number): Promise<void> {
  return act(port, GROUP, "resign", { node_id: `node-${term}`, term });
}

async function act(port: number, group: string, verb: string, body: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/groups/${group}/${verb}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${verb} was answered ${answer.status} ${text}`);
}

/** The monotonic clock that all processes of this machine share. */
function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
