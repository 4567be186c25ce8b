/**
 * What a service's refusal is here. Its codes come back as the classes of core; two that only a service can have get
 * classes of their own, as does an answer that no Tenure service gives.
 */
import { type AskedOf, coreErrorOf, type Refusal } from "@tenure/api/errors";
import { isObject } from "@tenure/core/internal";

export type { Refusal } from "@tenure/api/errors";

export type HttpErrorCode = "UNAUTHENTICATED" | "RATE_LIMITED" | "UNEXPECTED_ANSWER";

/** Narrow on `code`; the message is for people and may change. */
export abstract class HttpElectorError extends Error {
  abstract readonly code: HttpErrorCode;

  override get name(): string {
    return this.constructor.name;
  }
}

/** The service does not know who asks: no credentials, bad ones, or outdated ones that could not be had anew. */
export class UnauthenticatedError extends HttpElectorError {
  readonly code = "UNAUTHENTICATED";
}

/** The caller asks more often than it may, and the call had no time left to wait. Nothing was done. */
export class RateLimitedError extends HttpElectorError {
  readonly code = "RATE_LIMITED";
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterMs = retryAfterMs;
  }
}

/** What answered is no Tenure service, or one that this client does not understand. */
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
