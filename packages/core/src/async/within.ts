import type { Clock } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";
import { LinkedController } from "./linked-controller.js";

export interface TimeLimit {
  readonly limitMs: number;
  /** Aborts the work with the reason of this signal. If the signal has aborted already, the work is not started. */
  readonly signal?: AbortSignal | undefined;
  /** Makes the reason of the abort when the time limit has passed; by default a `BackendUnavailableError`. */
  readonly late?: () => Error;
}

/**
 * Runs `work` with a time limit: the signal that `work` gets aborts after `limitMs`, or when `signal` does. Settles as `work`
 * does. For work that may ignore its signal, use `within(clock, limit, (signal) => unlessAborted(signal, work))`.
 */
export async function within<T>(
  clock: Clock,
  { limitMs, signal, late }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new LinkedController(signal);
  const cancel = clock.after(limitMs, () => {
    controller.abort(late?.() ?? new BackendUnavailableError(`no answer within ${Math.round(limitMs)} ms`));
  });
  try {
    return await work(controller.signal);
  } finally {
    cancel();
    controller.unlink();
  }
}
