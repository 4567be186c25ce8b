import { SharedPair } from "./shared-pair.js";

/** Any other state is final: no thread sets a term back to `LED`. */
export const LED = 0;
export const ENDED = 1;
export const LAPSED = 2;
export const NOT_LEADER = 3;
export type TermState = typeof ENDED | typeof LAPSED | typeof NOT_LEADER;

const STATE_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** What the threads of one process share about one term. All times are the machine's (`machineClock`). */
export class TermMemory {
  readonly buffer: SharedArrayBuffer;
  /**
   * The deadline, on the monotonic clock and on the boot clock, which advances during suspend. Written by the thread
   * that renews.
   */
  readonly deadline: SharedPair;
  /**
   * When the thread that acts last showed that it is alive, and 1 if it was fit to lead, otherwise 0. Written by that
   * thread.
   */
  readonly sign: SharedPair;
  readonly #state: Int32Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(STATE_BYTES + 2 * SharedPair.BYTES)) {
    this.buffer = buffer;
    this.#state = new Int32Array(buffer, 0, 1);
    this.deadline = new SharedPair(buffer, STATE_BYTES);
    this.sign = new SharedPair(buffer, STATE_BYTES + SharedPair.BYTES);
  }

  /** The current state; 0 while the term is led. */
  get state(): number {
    return Atomics.load(this.#state, 0);
  }

  end(state: TermState): void {
    Atomics.compareExchange(this.#state, 0, LED, state);
  }
}
