/**
 * A controller of one's own that follows the caller's signal until `release`. `AbortSignal.any` would stay tied to a
 * signal that outlives many calls.
 */
export class FollowingController extends AbortController {
  readonly #followed: AbortSignal | undefined;
  readonly #follow = (): void => this.abort(this.#followed?.reason);

  constructor(signal: AbortSignal | undefined) {
    super();
    this.#followed = signal;
    if (signal?.aborted === true) this.#follow();
    else signal?.addEventListener("abort", this.#follow, { once: true });
  }

  release(): void {
    this.#followed?.removeEventListener("abort", this.#follow);
  }
}

/** Rejects with the signal's reason as soon as it is aborted, whatever becomes of the work. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    work.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
  });
}
