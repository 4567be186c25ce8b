/**
 * What a service's refusal is here. Its codes come back as the classes of core; two that only a service can have get
 * classes of their own, as does an answer that no Tenure service gives.
 */
import { libraryField } from "@tenure/api";
import {
  BackendUnavailableError,
  ConflictError,
  GroupNotFoundError,
  InvalidRequestError,
  InvalidTtlError,
  isObject,
  TooManyGroupsError,
  UnauthorizedError,
} from "@tenure/core";

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

/** The error body of the service, as far as it is one. */
export interface Refusal {
  readonly error: string;
  readonly message: string;
  readonly field?: string;
  readonly min_ttl_ms?: number;
  readonly max_ttl_ms?: number;
  readonly current_leader?: { readonly node_id: string; readonly term: number } | null;
}

export function isRefusal(body: unknown): body is Refusal {
  return isObject(body) && typeof body["error"] === "string" && typeof body["message"] === "string";
}

/** What was asked, where the answer does not repeat it. */
export interface Asked {
  readonly groupId?: string;
  readonly ttlMs?: number;
}

export function errorOf(refusal: Refusal, { groupId = "", ttlMs = Number.NaN }: Asked = {}): Error {
  const { error, message, field = "request" } = refusal;
  switch (error) {
    case "INVALID_REQUEST": {
      const problem = message.startsWith(`${field} `) ? message.slice(field.length + 1) : `: ${message}`;
      return new InvalidRequestError(libraryField(field), problem);
    }
    case "INVALID_TTL":
      return new InvalidTtlError(
        libraryField(field),
        ttlMs,
        refusal.min_ttl_ms ?? Number.NaN,
        refusal.max_ttl_ms ?? Number.NaN,
      );
    case "UNAUTHORIZED":
    case "FOREIGN_REQUEST":
      return new UnauthorizedError(message);
    case "GROUP_NOT_FOUND":
      return new GroupNotFoundError(groupId);
    case "CONFLICT":
      return new ConflictError(message);
    case "TOO_MANY_GROUPS":
      return new TooManyGroupsError(message);
    case "BACKEND_UNAVAILABLE":
      return new BackendUnavailableError(message);
    case "UNAUTHENTICATED":
      return new UnauthenticatedError(message);
    default:
      return new UnexpectedAnswerError(`the service answered ${error}: ${message}`);
  }
}
