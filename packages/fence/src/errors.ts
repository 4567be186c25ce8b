/**
 * What a fence refuses, as a closed set of codes. Options that can never be right are core's `InvalidRequestError`.
 */
export type FenceErrorCode =
  | "STALE_TERM"
  | "NOT_LEADER"
  | "INVALID_MANDATE"
  | "MANDATE_EXPIRED"
  | "FENCE_UNAVAILABLE"
  | "COMMIT_UNCERTAIN"
  | "TRANSACTION_ENDED";

/** Narrow on `code`; the message is for people and may change. */
export abstract class FenceError extends Error {
  abstract readonly code: FenceErrorCode;

  override get name(): string {
    return this.constructor.name;
  }
}

/** A later leader has been here: this term is over for good. Stop its work; nothing of what was refused has happened. */
export class StaleTermError extends FenceError {
  readonly code = "STALE_TERM";
  readonly groupId: string;
  readonly term: number;
  /** `null` where the resource did not say. */
  readonly highestTerm: number | null;

  constructor(groupId: string, term: number, highestTerm: number | null, options?: ErrorOptions) {
    const seen = highestTerm === null ? "a later one" : `term ${highestTerm}`;
    super(`term ${term} of group ${groupId} is over: ${seen} has been admitted`, options);
    this.groupId = groupId;
    this.term = term;
    this.highestTerm = highestTerm;
  }
}

/** The caller does not lead any more, by its own account. Nothing was sent. */
export class NotLeaderError extends FenceError {
  readonly code = "NOT_LEADER";
}

/** What is wrong with a mandate, for logs and for those who have to mend it. */
export type MandateProblem = "malformed" | "signature" | "unknown-key" | "claims" | "mismatch";

/** Not a mandate, not signed by the service, or one for something else. Never to be accepted, however often it comes. */
export class InvalidMandateError extends FenceError {
  readonly code = "INVALID_MANDATE";
  readonly problem: MandateProblem;

  constructor(problem: MandateProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** A genuine mandate whose time is over. The leader gets a newer one with each renewal. */
export class MandateExpiredError extends FenceError {
  readonly code = "MANDATE_EXPIRED";
  readonly expiresAtMs: number;

  constructor(expiresAtMs: number, options?: ErrorOptions) {
    super("the mandate has expired", options);
    this.expiresAtMs = expiresAtMs;
  }
}

/** The highest term or the keys could not be had, so nobody was admitted. Tells nothing of the term; ask again. */
export class FenceUnavailableError extends FenceError {
  readonly code = "FENCE_UNAVAILABLE";
}

/** The answer to COMMIT was lost: the transaction has happened or not, as a whole. Look before doing it again. */
export class CommitUncertainError extends FenceError {
  readonly code = "COMMIT_UNCERTAIN";
}

/**
 * The work of `fenced` ended the transaction itself, by COMMIT or ROLLBACK. What it did before is committed or rolled back
 * as it asked; nothing that it did after was fenced. A defect of the work: leave the end of the transaction to `fenced`.
 */
export class TransactionEndedError extends FenceError {
  readonly code = "TRANSACTION_ENDED";
}
