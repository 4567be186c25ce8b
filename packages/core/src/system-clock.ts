import { uptime } from "node:os";
import type { CancelTimer, Clock } from "./clock.js";
import type { Deadline } from "./deadline.js";

/** setTimeout takes no more than 2^31-1; a longer wait is made of several. */
const MAX_TIMER_MS = 2_147_483_647;

/** The machine's own clocks. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  bootMs: () => uptime() * 1000,
  bootTickMs: 10,
  wallMs: () => Date.now(),
  // Once a turn of the event loop; a microtask would come between two requests of the same turn.
  soon: (callback) => void setImmediate(callback),
  after(delayMs: number, callback: () => void): CancelTimer {
    const dueMs = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    // Node may fire up to a millisecond early; a lease must not be over early.
    const arm = () => {
      const leftMs = Math.ceil(dueMs - performance.now());
      timer = setTimeout(
        () => (performance.now() < dueMs ? arm() : callback()),
        Math.min(leftMs, MAX_TIMER_MS),
      );
    };
    arm();
    return () => clearTimeout(timer);
  },
};

const AT = 0;
const ASKED = 1;

/** On the clock of `monotonicMs`, in nanoseconds in a fixed buffer, so that neither a check nor a change allocates. */
export class SystemDeadline implements Deadline {
  readonly #ns = new BigInt64Array(2);

  isPending(): boolean {
    this.#ns[ASKED] = process.hrtime.bigint();
    return this.#ns[ASKED] < (this.#ns[AT] as bigint);
  }

  extend(delayMs: number): void {
    this.#ns[AT] = (this.#ns[ASKED] as bigint) + BigInt(Math.floor(delayMs * 1e6));
  }

  end(): void {
    this.#ns[AT] = 0n;
  }
}
