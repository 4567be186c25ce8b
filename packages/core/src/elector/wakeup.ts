import { onAbort } from "../on-abort.js";

export type Signals = readonly (AbortSignal | undefined)[];

type Listen = (wake: () => void) => () => void;

/** Wakes one reader when there may be something new, when one of its signals says that it is over, or when it leaves. */
export class Wakeup {
  readonly #signals: Signals;
  readonly #stopListening: (() => void)[] = [];
  #resolve: (() => void) | null = null;
  #isDue = false;
  #left = false;

  constructor(signals: Signals) {
    this.#signals = signals;
    for (const signal of signals) this.listenTo((wake) => onAbort(signal, wake));
  }

  /** `listen` is given what to call when there is something new, and returns how to stop that. */
  listenTo(listen: Listen): void {
    this.#stopListening.push(listen(this.#wake));
  }

  readonly #wake = (): void => {
    this.#isDue = true;
    this.#resolve?.();
  };

  get hasLeft(): boolean {
    return this.#left;
  }

  leave(): void {
    this.#left = true;
    this.#wake();
  }

  throwIfOver(): void {
    if (this.#left) throw new Error("the reader has left");
    for (const signal of this.#signals) signal?.throwIfAborted();
  }

  /** Resolves at the next wake-up, or at once if there was one since the last wait; rejects when the reader has left or a signal has aborted. */
  async wait(): Promise<void> {
    while (!this.#isDue) {
      this.throwIfOver();
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#isDue = false;
    this.throwIfOver();
  }

  /** `work`, unless it is over sooner. */
  unlessOver<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      void work.then(resolve, reject);
      this.#resolve = () => {
        try {
          this.throwIfOver();
        } catch (error) {
          reject(error);
        }
      };
      this.#resolve();
    });
  }

  remove(): void {
    for (const stop of this.#stopListening) stop();
  }
}
