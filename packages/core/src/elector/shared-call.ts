import type { Clock } from "../clock.js";
import { BackendUnavailableError } from "../errors.js";

/** A request that waits for a shared call to the store, for at most `limitMs`. */
export interface CallWaiter {
  readonly limitMs: number;
  /** The limit has passed; the call's answer no longer concerns this request. */
  expire(error: BackendUnavailableError): void;
}

/**
 * One call to the store on behalf of several requests. Each request waits for its own time limit only, while the call
 * continues for the others; the call is aborted when the last request has given up. So a short limit does not cut off
 * another request, and a long one does not delay another request.
 *
 * Settles as `work` does. Rejects when every limit has passed, even if `work` ignores its signal.
 */
export function sharedCall<T>(
  clock: Clock,
  what: string,
  waiters: readonly CallWaiter[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const sentAtMs = clock.monotonicMs();
    let cancel = (): void => {};
    const arm = (waiting: readonly CallWaiter[]): void => {
      let limitMs = Number.POSITIVE_INFINITY;
      for (const waiter of waiting) limitMs = Math.min(limitMs, waiter.limitMs);
      cancel = clock.after(Math.max(0, sentAtMs + limitMs - clock.monotonicMs()), () => {
        const error = new BackendUnavailableError(`${what} took more than ${limitMs} ms`);
        const left = waiting.filter((waiter) => waiter.limitMs > limitMs);
        for (const waiter of waiting) if (waiter.limitMs <= limitMs) waiter.expire(error);
        if (left.length > 0) return arm(left);
        reject(error);
        controller.abort(error);
      });
    };
    arm(waiters);
    work(controller.signal).then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error instanceof Error ? error : new Error(`${what} failed`, { cause: error }));
      },
    );
  });
}
