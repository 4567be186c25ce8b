import { onAbort } from "./async/on-abort.js";

/**
 * Time, injected. Nothing in this package reads a clock or sets a timer but through this interface, so that a whole
 * election can be run in virtual time and replayed.
 *
 * No decision is ever taken from `wallMs`: it stamps events for people. `monotonicMs` may stand still while the
 * machine is suspended; `bootMs` does not, and is what a leader looks at besides.
 */
export interface Clock {
  /** Never goes back; its origin means nothing. */
  monotonicMs(): number;
  /** Never goes back and runs through suspend; may be as coarse as `bootTickMs`. */
  bootMs(): number;
  readonly bootTickMs: number;
  /** Milliseconds since the epoch, as somebody set them. */
  wallMs(): number;
  /** Calls back when everything that has arrived by now was taken in; never from within this call. */
  soon(callback: () => void): void;
  /** Calls back once, never before `delayMs` have passed on the monotonic clock, never from within this call. */
  after(delayMs: number, callback: () => void): CancelTimer;
}

/**
 * One reading of a process's clocks. A decision is made at one reading, passed in, and everything that follows from the
 * decision (the durations written, the answer, the wait reported to the winner) is computed from that same reading. A
 * process can be stopped between any two reads of its clock; two readings in one decision would give the time between
 * them to one side only.
 */
export interface Reading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function readClock(clock: Clock): Reading {
  return { monotonicMs: clock.monotonicMs(), wallMs: Math.round(clock.wallMs()) };
}

/** Idempotent; after it the callback will not be called. */
export type CancelTimer = () => void;

export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    let stopListening = (): void => {};
    const cancel = clock.after(delayMs, () => {
      stopListening();
      resolve();
    });
    if (signal === undefined) return;
    stopListening = onAbort(signal, () => {
      cancel();
      reject(signal.reason as Error);
    });
  });
}
