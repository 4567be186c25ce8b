import { Worker } from "node:worker_threads";
import { onAbort } from "@tenure/core/internal";
import type { ChildOptions, ChildSpec } from "./child.js";

export interface WorkerChildOptions extends ChildOptions {
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What a worker is told on its `parentPort` when it has to end. */
export const STOP_MESSAGE = "tenure:stop";

/** A thread, with the term in its `workerData`. `STOP_MESSAGE` asks it to end; what does not is terminated. */
export function workerChild(id: string, module: URL, options: WorkerChildOptions = {}): ChildSpec {
  const { data = {}, ...rest } = options;
  return {
    ...rest,
    id,
    async start({ term, signal }) {
      const worker = new Worker(module, { workerData: { ...data, term } });
      let asked = false;
      let failure: unknown;
      worker.on("error", (error) => {
        failure = error;
      });
      // Not by `once`, which would end with the error, before the thread has.
      const ended = new Promise<void>((resolve, reject) => {
        worker.on("exit", (code) => {
          if (asked || (failure === undefined && code === 0)) resolve();
          else reject(new Error(`${id} ended with exit code ${code}`, { cause: failure }));
        });
      });
      // Until it runs, has ended, or is not wanted any more: then it can be ended by force at once.
      await new Promise<void>((resolve) => {
        worker.once("online", resolve);
        onAbort(signal, resolve);
        ended.then(resolve, () => resolve());
      });
      return {
        ended,
        stop: () => {
          asked = true;
          worker.postMessage(STOP_MESSAGE, []);
        },
        kill: () => {
          asked = true;
          void worker.terminate();
        },
      };
    },
  };
}
