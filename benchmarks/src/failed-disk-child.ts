import { execFileSync } from "node:child_process";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout } from "node:timers/promises";
import type { Store } from "@tenure/core";

/** One stretch of time with a call every `CALL_MS`. */
export interface Period {
  readonly calls: number;
  readonly refused: number;
  /** To open the store again. */
  readonly attempts: number;
  readonly cpuMs: number;
  readonly longestTurnMs: number;
}

const PERIOD_MS = 4000;
const CALL_MS = 10;
const BATCH = 6000;

const [directory = "", entries = "0"] = process.argv.slice(2);
let attempts = 0;

/** Each attempt makes sure of the directory as its first act, and once more when it has the lock. */
function countAttempts(): void {
  const { mkdir } = promises;
  const last = { isFirst: true };
  promises.mkdir = ((...args: Parameters<typeof mkdir>) => {
    if (args[0] === directory) {
      if (last.isFirst) attempts++;
      last.isFirst = !last.isFirst;
    }
    return mkdir(...args);
  }) as typeof mkdir;
  syncBuiltinESMExports();
}

async function measure(store: Store): Promise<Period> {
  const [attemptsBefore, cpuBefore, startMs] = [attempts, process.cpuUsage(), performance.now()];
  const turns = new LongestTurn();
  let [calls, refused] = [0, 0];
  const waiting: Promise<void>[] = [];
  while (performance.now() - startMs < PERIOD_MS) {
    calls++;
    const call = store.compareAndSet([{ key: `new/${performance.now()}`, expected: null, value: "1" }]);
    waiting.push(call.then(() => {}).catch(() => void refused++));
    await setTimeout(CALL_MS);
  }
  await Promise.all(waiting);
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    calls,
    refused,
    attempts: attempts - attemptsBefore,
    cpuMs: (user + system) / 1000,
    longestTurnMs: turns.end(),
  };
}

/** The most CPU time that the process has taken between two turns of a timer. */
class LongestTurn {
  #last = process.cpuUsage();
  #longestUs = 0;
  readonly #timer = setInterval(() => this.#look(), 1);

  end(): number {
    clearInterval(this.#timer);
    return this.#longestUs / 1000;
  }

  #look(): void {
    const { user, system } = process.cpuUsage(this.#last);
    this.#last = process.cpuUsage();
    this.#longestUs = Math.max(this.#longestUs, user + system);
  }
}

countAttempts();
// Only now: the store must see what was replaced above.
const { EmbeddedStore } = await import("@tenure/stores/embedded");
const store = await EmbeddedStore.open({ directory });
for (let from = 0; from < Number(entries); from += BATCH) {
  const keys = Array.from({ length: BATCH }, (_, i) => `r/${from + i}`);
  await store.compareAndSet(keys.map((key) => ({ key, expected: null, value: "x".repeat(400) })));
}
const sound = await measure(store);
execFileSync("prlimit", ["--fsize=0:", "--pid", String(process.pid)]);
const failed = await measure(store);
execFileSync("prlimit", ["--fsize=unlimited:", "--pid", String(process.pid)]);
process.stdout.write(JSON.stringify([sound, failed]));
// What it would still flush is of no interest.
process.exit();
