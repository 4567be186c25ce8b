import { CodedError } from "@tenure/core/internal";

/** A renewal failed in the thread that renews. `code` is the code of the error in that thread. */
export class ThreadRenewalError extends CodedError<string> {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The thread that renews could not start, or has ended. `start()` rejects with it, or the leadership ends as `heart-failed`. */
export class HeartThreadError extends CodedError<"HEART_THREAD_ENDED"> {
  readonly code = "HEART_THREAD_ENDED";
}
