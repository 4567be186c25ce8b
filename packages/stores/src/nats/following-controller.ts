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
