export type ElectionErrorCode =
  | "NOT_LEADING"
  | "ELECTION_STOPPED"
  | "STOP_TIMEOUT"
  | "ATTEMPTS_EXHAUSTED"
  | "SLOW_READER";

/** Narrow on `code`; the message is for people and may change. */
export abstract class ElectionError extends Error {
  abstract readonly code: ElectionErrorCode;

  override get name(): string {
    return this.constructor.name;
  }
}

/** By `assertLeader`: this process does not lead now, so it must not act. */
export class NotLeadingError extends ElectionError {
  readonly code = "NOT_LEADING";
}

/** By `lead` and `untilLeader`: the election was stopped first. `cause` is what the work threw after that, if it did. */
export class ElectionStoppedError extends ElectionError {
  readonly code = "ELECTION_STOPPED";
}

/** By `stop`: what is under way has not ended in time; the message names it. The lease runs out by itself. */
export class StopTimeoutError extends ElectionError {
  readonly code = "STOP_TIMEOUT";
}

/** `retry.maxAttempts` campaigns in a row failed; the election has ended. */
export class AttemptsExhaustedError extends ElectionError {
  readonly code = "ATTEMPTS_EXHAUSTED";
}

/** By `changes()`: its reader fell so far behind that events would have been lost. */
export class SlowReaderError extends ElectionError {
  readonly code = "SLOW_READER";
}
