import { SharedPair } from "./shared-pair.js";

/** Over for good, by whoever says so first: no thread makes it `LED` again. */
export const LED = 0;
export const ENDED = 1;
export const LAPSED = 2;
export const NOT_LEADER = 3;
export type TermState = typeof ENDED | typeof LAPSED | typeof NOT_LEADER;

const STATE_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** What the threads of one process share about one term. All times are the machine's (`machineClock`). */
export class TermMemory {
  readonly buffer: SharedArrayBuffer;
  /** Until when to act, on the monotonic clock and on the one that runs through suspend. Written by who renews. */
  readonly deadline: SharedPair;
  /** When the thread that acts last showed that it lives, and 1 if it was fit to lead then, 0 if not. Written by that thread. */
  readonly sign: SharedPair;
  readonly #state: Int32Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(STATE_BYTES + 2 * SharedPair.BYTES)) {
    this.buffer = buffer;
    this.#state = new Int32Array(buffer, 0, 1);
    this.deadline = new SharedPair(buffer, STATE_BYTES);
    this.sign = new SharedPair(buffer, STATE_BYTES + SharedPair.BYTES);
  }

  /** As anybody has left it: 0 while it is led. */
  get state(): number {
    return Atomics.load(this.#state, 0);
  }

  end(state: TermState): void {
    Atomics.compareExchange(this.#state, 0, LED, state);
  }
}
