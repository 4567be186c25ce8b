/** Runs the user's hooks in the order of the calls, never two at once. A hook that throws does not stop the others. */
export class HookQueue<Name extends string> {
  readonly #report: (hook: Name, error: unknown) => void;
  #last: Promise<void> = Promise.resolve();

  constructor(report: (hook: Name, error: unknown) => void) {
    this.#report = report;
  }

  /** Resolves when this hook has ended, successfully or not. */
  run(name: Name, hook: () => unknown): Promise<void> {
    this.#last = this.#last.then(async () => {
      try {
        await hook();
      } catch (error) {
        this.#report(name, error);
      }
    });
    return this.#last;
  }
}

/** Work that ends because of its signal has not failed. */
export function endsByItsSignal(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return error === signal.reason || (error instanceof Error && error.name === "AbortError");
}
