import { onAbort } from "./async/on-abort.js";

/**
 * The source of time. Code in this package reads clocks and sets timers only through this interface, so that a whole
 * election can run in virtual time and be replayed.
 *
 * No decision depends on `wallMs`; it only stamps events for people. `monotonicMs` may stand still while the machine is
 * suspended. `bootMs` does not, so a leader checks both.
 */
export interface Clock {
  /** Never goes back. Its origin has no meaning. */
  monotonicMs(): number;
  /** Never goes back and advances while the machine is suspended. Its resolution is `bootTickMs`. */
  bootMs(): number;
  readonly bootTickMs: number;
  /** Milliseconds since the epoch, as the machine's clock is set. It may jump. */
  wallMs(): number;
  /** Calls back once the events that have arrived by now were processed; never from within this call. */
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
