/**
 * A node of an application, as a process: it stands for coordinator, and while it is, its one child says so on the standard
 * output every few milliseconds. `node coordinator-node.test-kit.js '{"url": …}'`; SIGTERM stops it.
 */
import { fileURLToPath } from "node:url";
import { HttpElector } from "@tenure/client";
import {
  type ChildSpec,
  CoordinatorCandidate,
  functionChild,
  listen,
  processChild,
} from "@tenure/coordinator";
import { type Elector, type Store, StoreElector, sleep, systemClock } from "@tenure/core";
import { openStore } from "@tenure/stores";

export interface NodeOptions {
  /** The URL of a service or a store. */
  readonly url: string;
  readonly nodeId: string;
  readonly groupId?: string;
  readonly ttlMs?: number;
  readonly takeoverDelayMs?: number;
  /** The kind of its child; a function in this thread by default. */
  readonly child?: "function" | "process";
}

const TICK_MS = 5;

function say(what: string): void {
  process.stdout.write(`${Number(process.hrtime.bigint()) / 1e6} ${what}\n`);
}

async function work(term: number, signal: AbortSignal): Promise<void> {
  say(`start ${term}`);
  while (!signal.aborted) {
    say(`tick ${term}`);
    await sleep(systemClock, TICK_MS, signal).catch(() => {});
  }
  say(`stop ${term}`);
}

function childOf(kind: NodeOptions["child"]): ChildSpec {
  if (kind !== "process") return functionChild("work", ({ term, signal }) => work(term, signal));
  return processChild("work", process.execPath, { args: [fileURLToPath(import.meta.url), "child"] });
}

/** The child, if it is a process. */
async function beChild(): Promise<void> {
  const stopping = new AbortController();
  process.on("SIGTERM", () => stopping.abort());
  await work(Number(process.env["TENURE_TERM"]), stopping.signal);
}

async function main(): Promise<void> {
  const { url, child, ...options } = JSON.parse(process.argv[2] ?? "{}") as NodeOptions;
  let store: Store | null = null;
  let elector: Elector;
  if (url.startsWith("http")) elector = await HttpElector.open({ endpoints: [url] });
  else {
    store = await openStore(url);
    elector = StoreElector.open({ store, keepMembers: true });
  }
  listen(({ event, metadata: { term, reason } }) => {
    if (event === "became_leader") say(`told leads ${term}`);
    if (event === "lost_leadership") say(`told ${reason}`);
  });
  const candidate = new CoordinatorCandidate({ ...options, elector, children: [childOf(child)] });
  process.on("SIGTERM", () => {
    void candidate.stop().then(async () => {
      await elector.close();
      await store?.close();
      say("gone");
    });
  });
  await candidate.start();
  // When it stands by, it knows the leader.
  while (candidate.state === "running" && (candidate.status()?.leaderId ?? null) === null) {
    await sleep(systemClock, TICK_MS);
  }
  if (candidate.state === "running") say("ready");
}

await (process.argv[2] === "child" ? beChild() : main());
