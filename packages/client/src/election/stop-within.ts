import type { Clock } from "@tenure/core";
import { StopTimeoutError } from "./errors.js";
import type { ElectionState } from "./state.js";

export interface StopWithinParts {
  readonly clock: Clock;
  readonly groupId: string;
  readonly timeoutMs: number;
  readonly state: () => ElectionState;
  /** Called before it rejects. */
  readonly late: () => void;
}

/** `ended`, or `StopTimeoutError` after `timeoutMs`. */
export function stopWithin(ended: Promise<void>, parts: StopWithinParts): Promise<void> {
  const { clock, groupId, timeoutMs, state, late } = parts;
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => {
      const what = underWay(state());
      late();
      reject(new StopTimeoutError(`${what} of group ${groupId} has not ended within ${timeoutMs} ms`));
    });
    void ended.then(resolve, reject).finally(cancel);
  });
}

function underWay({ kind }: ElectionState): string {
  if (kind === "stepping-down") return "the work or onDemote";
  if (kind === "resigning") return "the work has ended, but the resignation";
  return "the withdrawal from the election";
}
