/** The user's hooks: in the order in which they were called for, never two at once; one that throws stops nobody. */
export class HookQueue<Name extends string> {
  readonly #report: (hook: Name, error: unknown) => void;
  #last: Promise<void> = Promise.resolve();

  constructor(report: (hook: Name, error: unknown) => void) {
    this.#report = report;
  }

  /** Resolves when this one has ended, however it did. */
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

/** Work that ends by its signal ends as it should. */
export function endsByItsSignal(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return error === signal.reason || (error instanceof Error && error.name === "AbortError");
}
