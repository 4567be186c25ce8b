import { onAbort } from "./on-abort.js";

/**
 * An AbortController that also aborts when one of `signals` does, with the reason of that signal, until `unlink()` is called.
 *
 * It replaces `AbortSignal.any`, which a house rule forbids. A signal that lives as long as a server keeps a reference to every
 * signal that `AbortSignal.any` has derived from it. And Node 20 may collect a signal that only another signal refers
 * to; such a signal never aborts.
 */
export class LinkedController extends AbortController {
  readonly #links: (() => void)[] = [];

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    super();
    for (const signal of signals) {
      if (signal?.aborted === true) this.abort(signal.reason);
      this.#links.push(onAbort(signal, () => this.abort(signal?.reason)));
    }
  }

  /** Stops following the signals. Call it when the work that uses this controller has ended. */
  unlink(): void {
    for (const stopListening of this.#links) stopListening();
  }
}
