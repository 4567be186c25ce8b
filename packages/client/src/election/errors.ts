import { CodedError } from "@tenure/core/internal";

export type ElectionErrorCode =
  | "NOT_LEADING"
  | "ELECTION_STOPPED"
  | "STOP_TIMEOUT"
  | "ATTEMPTS_EXHAUSTED"
  | "SLOW_READER";

/** Narrow on `code`; the message is for people and may change. */
export abstract class ElectionError extends CodedError<ElectionErrorCode> {}

/** Thrown by `assertLeader`: this process does not lead now, so it must not act. */
export class NotLeadingError extends ElectionError {
  readonly code = "NOT_LEADING";
}

/** From `lead` and `untilLeader`: the election was stopped first. `cause` is the error that the work threw after that, if any. */
export class ElectionStoppedError extends ElectionError {
  readonly code = "ELECTION_STOPPED";
}

/** From `stop`: something, which the message names, has not ended in time. The lease expires on its own. */
export class StopTimeoutError extends ElectionError {
  readonly code = "STOP_TIMEOUT";
}

/** `retry.maxAttempts` campaigns in a row failed; the election has ended. */
export class AttemptsExhaustedError extends ElectionError {
  readonly code = "ATTEMPTS_EXHAUSTED";
}

/** From `changes()`: its reader was too slow, and events would have been lost. */
export class SlowReaderError extends ElectionError {
  readonly code = "SLOW_READER";
}
