/**
 * The one place from which elections, roles and observers call user code that they do not wait for: loggers, metrics,
 * tracers and listeners.
 *
 * Such code never runs on the caller's stack. Each call is a separate microtask, in order, so the caller has set its
 * state and its timers first, and user code that calls `stop()`, `resign()` or `isLeader()` finds the election
 * consistent. An error or a rejected promise is reported once for each subject and goes no further.
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

/**
 * Wraps a logger or metrics so that each of its methods is called in that way. `failed` is called for the first failure
 * only.
 */
export function offStack<T extends object>(telemetry: T, failed: (error: unknown) => void): T {
  const code = new UserCode<T>((_telemetry, error) => failed(error));
  return new Proxy(telemetry, {
    get: (target, name): unknown => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): void => code.call(telemetry, () => member.apply(target, args));
    },
  });
}
