/**
 * The one place from which an election calls code that it does not wait for: loggers, metrics, tracers, listeners.
 *
 * Such code never runs on the stack of the election. Each call is a microtask of its own, in order, so a caller has set its
 * state and armed its timers first, and code that calls `stop()`, `resign()` or `isLeader()` finds the election consistent.
 * What it throws, and a promise that it rejects, is reported once for each subject and goes no further.
 */
export class UserCode<Subject> {
  readonly #report: (subject: Subject, error: unknown) => void;
  readonly #reported = new Set<Subject>();

  constructor(report: (subject: Subject, error: unknown) => void) {
    this.#report = report;
  }

  call(subject: Subject, code: () => unknown): void {
    queueMicrotask(() => {
      try {
        const result = code();
        if (isThenable(result)) result.then(undefined, (error: unknown) => this.#failed(subject, error));
      } catch (error) {
        this.#failed(subject, error);
      }
    });
  }

  #failed(subject: Subject, error: unknown): void {
    if (this.#reported.has(subject)) return;
    this.#reported.add(subject);
    this.#report(subject, error);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
