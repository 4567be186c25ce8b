import { onAbort } from "../on-abort.js";
import { unlessAborted } from "./within.js";

/** Wakes one reader when there may be something new, or when one of its signals says that it is over. */
export class Bell {
  readonly #signals: readonly (AbortSignal | undefined)[];
  readonly #ring: () => void;
  readonly #stopListening: readonly (() => void)[];
  #wake: (() => void) | null = null;
  #rung = false;

  /** `listen` is given what to call when there is something new, and returns how to stop that. */
  constructor(listen: (ring: () => void) => () => void, signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals;
    this.#ring = () => {
      this.#rung = true;
      this.#wake?.();
    };
    const onSignals = signals.map((signal) =>
      signal === undefined ? () => {} : onAbort(signal, this.#ring),
    );
    this.#stopListening = [listen(this.#ring), ...onSignals];
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
  }
}
