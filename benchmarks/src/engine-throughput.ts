/**
 * What a Tenure service over an engine does per second, against a client that does the same on the engine itself, one
 * compare-and-write or read at a time. The engine is a real one, started for it; service, load and direct client are
 * processes of their own, all on this machine. The direct client writes values as long as Tenure's record. CPU is that of
 * the service, without the load, and that of the direct client, which is its own load.
 */
import { type Engine, type EngineName, type Installed, isMissing } from "@tenure/engines";
import { openStore } from "@tenure/stores";
import { Child } from "./child.js";
import { type Contestant, type ContestResult, hold, report, warmUp } from "./contest.js";
import { type Client, type DirectWork, fastestClient } from "./direct-client.js";
import { recordOf } from "./embedded-renew.js";
import type { Benchmark } from "./report.js";
import { BATCH, type Generator, type Load, loadedService, type Service } from "./service-load.js";

export interface EnginePlan {
  readonly engine: EngineName;
  /** What must be installed. @defaultValue `engine` */
  readonly needs?: Installed;
  readonly about: string;
  readonly start: () => Promise<Engine>;
  readonly lines: readonly EngineLine[];
}

export interface EngineLine {
  readonly load: Load;
  readonly against: DirectWork;
  readonly target: number | null;
}

export function engineThroughput({ engine, needs = engine, about, start, lines }: EnginePlan): Benchmark {
  return {
    name: engine,
    store: engine,
    about,
    async run() {
      if (isMissing(needs)) {
        console.log(`${needs} is not installed: passed by. npm test installs it, on Debian as root`);
        return;
      }
      const running = await start();
      try {
        report(await measure(running, lines), "direct", "the direct client");
      } finally {
        await running.stop();
      }
    },
  };
}

async function measure({ url }: Engine, lines: readonly EngineLine[]): Promise<ContestResult[]> {
  const service: Service = new Child("tenure-child.js", [url]);
  const generator: Generator = new Child("load-child.js");
  let client: Client | null = null;
  const contestants = new Map<DirectWork, Contestant>();
  const results: ContestResult[] = [];
  try {
    for (const { load, against, target } of lines) {
      const tenure = loadedService(service, generator, load);
      await warmUp(tenure);
      client ??= new Child("direct-child.js", [url, await anyRecord(url)]);
      const other = contestants.get(against) ?? (await fastestClient(client, against));
      contestants.set(against, other);
      results.push(await hold({ what: nameOf(load), tenure, other, target }));
    }
    return results;
  } finally {
    await Promise.all([service.end(), generator.end(), client?.end()]);
  }
}

function nameOf({ verb, connections }: Load): string {
  const how = verb === "renew-many" ? `renew, ${BATCH} per request` : verb;
  return `${how}, ${connections} connections`;
}

async function anyRecord(url: string): Promise<string> {
  const store = await openStore(url);
  try {
    return await recordOf(store, "group-0");
  } finally {
    await store.close();
  }
}
