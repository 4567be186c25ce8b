import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Batch, BatchReport } from "./run-schedules.js";

export interface Job extends Batch {
  readonly mutant?: string;
}

/** The built one, also where this file runs from source. */
const WORKER = new URL("../dist/worker.js", import.meta.url);

export type Answer = { readonly report: BatchReport } | { readonly error: string };

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

  async run(job: Job): Promise<BatchReport> {
    const worker = this.#idle.pop() ?? (await new Promise<Worker>((resolve) => this.#waiting.push(resolve)));
    try {
      const answer = await ask(worker, job);
      if ("error" in answer) throw new Error(answer.error);
      return answer.report;
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
