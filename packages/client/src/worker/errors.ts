/** A renewal failed in the thread that renews; with the code that it had there. */
export class ThreadRenewalError extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }

  override get name(): string {
    return this.constructor.name;
  }
}

/** The thread that renews could not start, or has ended: `start()` rejects with it, or the leadership ends as `heart-failed`. */
export class HeartThreadError extends Error {
  readonly code = "HEART_THREAD_ENDED";

  override get name(): string {
    return this.constructor.name;
  }
}
