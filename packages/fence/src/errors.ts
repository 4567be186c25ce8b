import { CodedError } from "@tenure/core/internal";

/** The codes of a fence, as a closed set. Invalid options are core's `InvalidRequestError`. */
export type FenceErrorCode =
  | "STALE_TERM"
  | "NOT_LEADER"
  | "INVALID_MANDATE"
  | "MANDATE_EXPIRED"
  | "FENCE_UNAVAILABLE"
  | "COMMIT_UNCERTAIN"
  | "TRANSACTION_ENDED";

/** Narrow on `code`; the message is for people and may change. */
export abstract class FenceError extends CodedError<FenceErrorCode> {}

/** The resource has admitted a later term, so this term is over. Stop the work of this term. The refused request has had no effect. */
export class StaleTermError extends FenceError {
  readonly code = "STALE_TERM";
  readonly groupId: string;
  readonly term: number;
  /** `null` if the resource did not send it. */
  readonly highestTerm: number | null;

  constructor(groupId: string, term: number, highestTerm: number | null, options?: ErrorOptions) {
    const seen = highestTerm === null ? "a later one" : `term ${highestTerm}`;
    super(`term ${term} of group ${groupId} is over: ${seen} has been admitted`, options);
    this.groupId = groupId;
    this.term = term;
    this.highestTerm = highestTerm;
  }
}

/** The caller knows that it does not lead any more. Nothing was sent. */
export class NotLeaderError extends FenceError {
  readonly code = "NOT_LEADER";
}

/** What is wrong with a mandate, for logs and for the person who has to fix it. */
export type MandateProblem = "malformed" | "signature" | "unknown-key" | "claims" | "mismatch";

/** The token is not a mandate, not signed by the service, or for another group, node or term. A retry with the same token cannot succeed. */
export class InvalidMandateError extends FenceError {
  readonly code = "INVALID_MANDATE";
  readonly problem: MandateProblem;

  constructor(problem: MandateProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** A genuine mandate that has expired. The leader gets a new mandate with each renewal. */
export class MandateExpiredError extends FenceError {
  readonly code = "MANDATE_EXPIRED";
  readonly expiresAtMs: number;

  constructor(expiresAtMs: number, options?: ErrorOptions) {
    super("the mandate has expired", options);
    this.expiresAtMs = expiresAtMs;
  }
}

/** The highest term or the keys could not be read, so the request was refused. It says nothing about the term; retry. */
export class FenceUnavailableError extends FenceError {
  readonly code = "FENCE_UNAVAILABLE";
}

/** The answer to COMMIT was lost: the transaction was committed or rolled back as a whole. Check which before a retry. */
export class CommitUncertainError extends FenceError {
  readonly code = "COMMIT_UNCERTAIN";
}

/**
 * The work of `fenced` ended the transaction itself, by COMMIT or ROLLBACK. Statements before that are committed or rolled back;
 * statements after it were not fenced. This is a defect of the work: let `fenced` end the transaction.
 */
export class TransactionEndedError extends FenceError {
  readonly code = "TRANSACTION_ENDED";
}
