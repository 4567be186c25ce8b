import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { ScheduleReport, Simulation } from "./simulation.js";

/** Schedules of one profile, one for each seed from `from` on. */
export interface Batch {
  readonly profile: string;
  readonly from: number;
  readonly count: number;
  /** The name of a mutant. */
  readonly mutant?: string | undefined;
  /** Start no further schedule once one has caught the mutant. */
  readonly untilCaught?: boolean;
  /** The folder of another core. */
  readonly core?: string | undefined;
}

export interface Job extends Batch {
  readonly simulation: Simulation["name"];
}

export type Answer = { readonly reports: readonly ScheduleReport[] } | { readonly error: string };

/** The built one, also where this file runs from source. */
const WORKER = new URL("../../dist/harness/worker.js", import.meta.url);

/** As many workers as there are cores, each with one job at a time. */
export class Pool implements AsyncDisposable {
  readonly #idle: Worker[] = [];
  readonly #all: Worker[] = [];
  readonly #waiting: ((worker: Worker) => void)[] = [];

  static start(size: number = availableParallelism()): Pool {
    const pool = new Pool();
    for (let i = 0; i < size; i++) {
      const worker = new Worker(WORKER);
      pool.#all.push(worker);
      pool.#idle.push(worker);
    }
    return pool;
  }

  async run<R extends ScheduleReport>({ name }: Simulation<unknown, R>, batch: Batch): Promise<readonly R[]> {
    const worker = this.#idle.pop() ?? (await new Promise<Worker>((resolve) => this.#waiting.push(resolve)));
    try {
      const answer = await ask(worker, { ...batch, simulation: name });
      if ("error" in answer) throw new Error(answer.error);
      return answer.reports as readonly R[];
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(worker);
      else next(worker);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.terminate()));
  }
}

function ask(worker: Worker, job: Job): Promise<Answer> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once("message", resolve);
    worker.once("error", reject);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
    worker.postMessage(job);
  });
}
