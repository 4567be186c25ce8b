import { Worker } from "node:worker_threads";
import { onAbort } from "@tenure/core/internal";
import type { ChildOptions, ChildSpec } from "./child.js";

export interface WorkerChildOptions extends ChildOptions {
  /** Data for the thread's `workerData`, to which `term` is added; it must be cloneable. @defaultValue none */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The message that a worker gets on its `parentPort` when it has to end. */
export const STOP_MESSAGE = "tenure:stop";

/** A thread, with the term in its `workerData`. `STOP_MESSAGE` asks it to end; a thread that does not end is terminated. */
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
      // Not with `once`, which would settle at the error, before the thread has ended.
      const ended = new Promise<void>((resolve, reject) => {
        worker.on("exit", (code) => {
          if (asked || (failure === undefined && code === 0)) resolve();
          else reject(new Error(`${id} ended with exit code ${code}`, { cause: failure }));
        });
      });
      // Waits until the thread runs, has ended, or is no longer wanted; then it can be terminated at once.
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
