import type { Clock } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";

/** A long task, which yields how many pages or entries it has gone through since its last yield. */
export type Steps<T> = Generator<number, T>;

export interface SliceOptions {
  readonly clock: Clock;
  /** Ends the task between two slices, with the signal's reason. */
  readonly signal: AbortSignal;
}

/** By number, and by time: a page that must come from a slow disk takes a thousand times as long as one from memory. */
const MAX_SLICE_STEPS = 256;
const MAX_SLICE_MS = 5;

/**
 * Runs a task in slices and lets the event loop turn between two of them: the process may lead groups, answer probes and
 * hold timers meanwhile.
 */
export async function inSlices<T>(steps: Steps<T>, { clock, signal }: SliceOptions): Promise<T> {
  let startMs = clock.monotonicMs();
  let count = 0;
  try {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value;
      count += step.value;
      if (count < MAX_SLICE_STEPS && clock.monotonicMs() - startMs < MAX_SLICE_MS) continue;
      await unlessAborted(signal, new Promise<void>((resolve) => clock.soon(resolve)));
      startMs = clock.monotonicMs();
      count = 0;
    }
  } finally {
    // Lets an unfinished task close its files.
    steps.return(undefined as T);
  }
}
