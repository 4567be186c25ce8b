/**
 * The errors that a client makes of the refusals of a service. The codes of core become the classes of core; the codes that only a
 * service has, and an answer that no Tenure service gives, have classes here.
 */
import { type AskedOf, coreErrorOf, type Refusal } from "@tenure/api/errors";
import { CodedError, isObject } from "@tenure/core/internal";

export type { Refusal } from "@tenure/api/errors";

export type HttpErrorCode = "UNAUTHENTICATED" | "RATE_LIMITED" | "UNEXPECTED_ANSWER";

/** Narrow on `code`; the message is for people and may change. */
export abstract class HttpElectorError extends CodedError<HttpErrorCode> {}

/** The service could not identify the caller: the credentials are missing, wrong, or expired and could not be renewed. */
export class UnauthenticatedError extends HttpElectorError {
  readonly code = "UNAUTHENTICATED";
}

/** The caller exceeded its rate limit, and the call had no time left to wait. The request had no effect. */
export class RateLimitedError extends HttpElectorError {
  readonly code = "RATE_LIMITED";
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The answer is not that of a Tenure service, or this client does not understand it. */
export class UnexpectedAnswerError extends HttpElectorError {
  readonly code = "UNEXPECTED_ANSWER";
}

export function isRefusal(body: unknown): body is Refusal {
  return isObject(body) && typeof body["error"] === "string" && typeof body["message"] === "string";
}

export function errorOf(refusal: Refusal, asked: AskedOf = {}): Error {
  const { error, message } = refusal;
  const found = coreErrorOf(refusal, asked);
  if (found !== null) return found;
  if (error === "UNAUTHENTICATED") return new UnauthenticatedError(message);
  return new UnexpectedAnswerError(`the service answered ${error}: ${message}`);
}
