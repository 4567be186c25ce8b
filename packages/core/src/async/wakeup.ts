import { onAbort } from "./on-abort.js";

export type Signals = readonly (AbortSignal | undefined)[];

type Listen = (wake: () => void) => () => void;

/**
 * Wakes one reader when there may be something new, when one of its signals aborts, or when the reader leaves. The last two
 * end the reader: from then on `throwIfOver` throws.
 */
export class Wakeup {
  readonly #signals: Signals;
  readonly #onOver: () => void;
  readonly #stopListening: (() => void)[] = [];
  #controller: AbortController | null = null;
  #resolve: (() => void) | null = null;
  #isDue = false;
  #left = false;

  /** `onOver` is called when one of the signals aborts, after the reader was woken. */
  constructor(signals: Signals, onOver: () => void = () => {}) {
    this.#signals = signals;
    this.#onOver = onOver;
    for (const signal of signals) {
      this.#stopListening.push(onAbort(signal, () => this.#end(signal?.reason)));
    }
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

  /** Aborts when the reader is ended, for work that needs a signal. It is made on first use, because most readers need none. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      const aborted = this.#signals.find((signal) => signal?.aborted === true);
      if (aborted !== undefined) this.#controller.abort(aborted.reason);
      if (this.#left) this.#controller.abort(leftError());
    }
    return this.#controller.signal;
  }

  leave(): void {
    this.#left = true;
    this.#wake();
    this.#controller?.abort(leftError());
  }

  #end(reason: unknown): void {
    this.#wake();
    this.#controller?.abort(reason);
    this.#onOver();
  }

  throwIfOver(): void {
    if (this.#left) throw leftError();
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

  /** Settles as `work` does, but rejects as soon as the reader has left or a signal has aborted. */
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

function leftError(): Error {
  return new Error("the reader has left");
}
