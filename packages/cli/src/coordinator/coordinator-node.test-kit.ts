/**
 * A node of an application, as a process: it stands for coordinator, and while it is, its one child says so on the standard
 * output every few milliseconds. `node coordinator-node.test-kit.js '{"url": …}'`; SIGTERM stops it.
 */
import { HttpElector } from "@tenure/client";
import { CoordinatorCandidate, functionChild } from "@tenure/coordinator";
import { type Elector, type Store, StoreElector, sleep, systemClock } from "@tenure/core";
import { openStore } from "@tenure/stores";

export interface NodeOptions {
  /** A service or a store. */
  readonly url: string;
  readonly nodeId: string;
  readonly ttlMs?: number;
  readonly takeoverDelayMs?: number;
}

const TICK_MS = 5;

function say(what: string): void {
  process.stdout.write(`${Number(process.hrtime.bigint()) / 1e6} ${what}\n`);
}

async function main(): Promise<void> {
  const { url, nodeId, ...times } = JSON.parse(process.argv[2] ?? "{}") as NodeOptions;
  let store: Store | null = null;
  let elector: Elector;
  if (url.startsWith("http")) elector = await HttpElector.open({ endpoints: [url] });
  else {
    store = await openStore(url);
    elector = StoreElector.open({ store, keepMembers: true });
  }
  const work = functionChild("work", async ({ term, signal }) => {
    say(`start ${term}`);
    while (!signal.aborted) {
      say(`tick ${term}`);
      await sleep(systemClock, TICK_MS, signal).catch(() => {});
    }
    say(`stop ${term}`);
  });
  const candidate = new CoordinatorCandidate({ ...times, elector, nodeId, children: [work] });
  process.on("SIGTERM", () => {
    void candidate.stop().then(async () => {
      await elector.close();
      await store?.close();
      say("gone");
    });
  });
  candidate.start();
  // When it stands by: it knows who leads.
  while (candidate.state === "running" && (candidate.status()?.leaderId ?? null) === null) {
    await sleep(systemClock, TICK_MS);
  }
  if (candidate.state === "running") say("ready");
}

await main();
