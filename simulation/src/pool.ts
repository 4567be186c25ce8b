import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Batch, BatchReport } from "./run-schedules.js";

export interface Job extends Batch {
  readonly mutant?: string;
  /** The dist folder of another build of core. */
  readonly core?: string | undefined;
}

/** The built one, also where this file runs from source. */
const WORKER = new URL("../dist/worker.js", import.meta.url);

export type Answer<R = BatchReport> = { readonly report: R } | { readonly error: string };

/** As many workers as there are cores, each with one job at a time. */
export class Pool<J = Job, R = BatchReport> implements AsyncDisposable {
  readonly #idle: Worker[] = [];
  readonly #all: Worker[] = [];
  readonly #waiting: ((worker: Worker) => void)[] = [];

  static start<J = Job, R = BatchReport>(
    size: number = availableParallelism(),
    code: URL = WORKER,
  ): Pool<J, R> {
    const pool = new Pool<J, R>();
    for (let i = 0; i < size; i++) {
      const worker = new Worker(code);
      pool.#all.push(worker);
      pool.#idle.push(worker);
    }
    return pool;
  }

  async run(job: J): Promise<R> {
    const worker = this.#idle.pop() ?? (await new Promise<Worker>((resolve) => this.#waiting.push(resolve)));
    try {
      const answer = await ask<R>(worker, job);
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

function ask<R>(worker: Worker, job: unknown): Promise<Answer<R>> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once("message", resolve);
    worker.once("error", reject);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
    worker.postMessage(job);
  });
}
