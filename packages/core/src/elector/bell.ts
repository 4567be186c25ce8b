import { onAbort } from "../on-abort.js";

export type Signals = readonly (AbortSignal | undefined)[];

type Listen = (ring: () => void) => () => void;

/** Wakes one reader when there may be something new, when one of its signals says that it is over, or when it leaves. */
export class Bell {
  readonly #signals: Signals;
  readonly #stopListening: (() => void)[] = [];
  #wake: (() => void) | null = null;
  #rung = false;
  #left = false;

  constructor(signals: Signals) {
    this.#signals = signals;
    for (const signal of signals) this.listenTo((ring) => onAbort(signal, ring));
  }

  /** `listen` is given what to call when there is something new, and returns how to stop that. */
  listenTo(listen: Listen): void {
    this.#stopListening.push(listen(this.#ring));
  }

  readonly #ring = (): void => {
    this.#rung = true;
    this.#wake?.();
  };

  get hasLeft(): boolean {
    return this.#left;
  }

  leave(): void {
    this.#left = true;
    this.#ring();
  }

  throwIfOver(): void {
    if (this.#left) throw new Error("the reader has left");
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
    return new Promise((resolve, reject) => {
      void work.then(resolve, reject);
      this.#wake = () => {
        try {
          this.throwIfOver();
        } catch (error) {
          reject(error);
        }
      };
      this.#wake();
    });
  }

  remove(): void {
    for (const stop of this.#stopListening) stop();
  }
}
