import { onAbort } from "../on-abort.js";
import { unlessAborted } from "./within.js";
import type { GroupState } from "./group-state.js";

/** Wakes one reader when the group's events may have changed, or when one of its signals says that it is over. */
export class Bell {
  readonly #group: GroupState;
  readonly #signals: readonly (AbortSignal | undefined)[];
  readonly #ring: () => void;
  readonly #stopListening: readonly (() => void)[];
  #wake: (() => void) | null = null;
  #rung = false;

  constructor(group: GroupState, signals: readonly (AbortSignal | undefined)[]) {
    this.#group = group;
    this.#signals = signals;
    this.#ring = () => {
      this.#rung = true;
      this.#wake?.();
    };
    group.watchers ??= new Set();
    group.watchers.add(this.#ring);
    this.#stopListening = signals.map((signal) =>
      signal === undefined ? () => {} : onAbort(signal, this.#ring),
    );
  }

  throwIfOver(): void {
    for (const signal of this.#signals) signal?.throwIfAborted();
  }

  /** Resolves at the next ring, or at once if it rang since the last time; rejects when it is over. */
  async rung(): Promise<void> {
    while (!this.#rung) {
      this.throwIfOver();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rung = false;
    this.throwIfOver();
  }

  /** `work`, unless it is over sooner. */
  unlessOver<T>(work: Promise<T>): Promise<T> {
    return this.#signals.reduce((rest, signal) => unlessAborted(signal, rest), work);
  }

  remove(): void {
    for (const stop of this.#stopListening) stop();
    this.#group.watchers?.delete(this.#ring);
    if (this.#group.watchers?.size === 0) this.#group.watchers = null;
  }
}
