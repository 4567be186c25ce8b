import type { Clock } from "@tenure/core";
import { StopTimeoutError } from "./errors.js";

/** `ended`, or `StopTimeoutError` after so long; `late` is called before that. */
export function stopWithin(
  ended: Promise<void>,
  { clock, groupId }: { readonly clock: Clock; readonly groupId: string },
  timeoutMs: number,
  late: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => {
      late();
      reject(
        new StopTimeoutError(
          `the work of group ${groupId} has not ended within ${timeoutMs} ms; its lease runs out by itself`,
        ),
      );
    });
    void ended.then(resolve, reject).finally(cancel);
  });
}
