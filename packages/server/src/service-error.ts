import { currentLeaderShape, type NamesOf, type shapes, wireField } from "@tenure/api";
import { ERRORS, type ServiceCode } from "@tenure/api/errors";
import {
  BackendUnavailableError,
  type ErrorCode,
  InvalidRequestError,
  InvalidTtlError,
  type NotLeader,
  TenureError,
} from "@tenure/core";

type Details = Omit<shapes.ErrorReply, "ok" | "error" | "message">;

/** An error of the API: a code, a message and details, from which each transport makes its answer. */
export class ServiceError extends Error {
  readonly code: ServiceCode;
  readonly details: Details;
  readonly retryAfterSeconds: number | undefined;
  /** The HTTP status, for the error handler of an extension, which reads this property as it does with errors of Fastify. */
  readonly statusCode: number;

  constructor(
    code: ServiceCode,
    message: string,
    details: Details = {},
    options?: ErrorOptions & { retryAfterSeconds?: number },
  ) {
    // A refusal is an answer, not a bug: its stack is never shown, and capturing it costs a tenth of a refused request.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.statusCode = ERRORS[code].http;
    this.details = details;
    this.retryAfterSeconds = options?.retryAfterSeconds ?? (code === "BACKEND_UNAVAILABLE" ? 1 : undefined);
  }

  reply(): shapes.ErrorReply {
    return { ok: false, error: this.code, message: this.message, ...this.details };
  }
}

/** An error of the elector as an error of the API. Any other error is a bug of the service, and is returned unchanged. */
export function asServiceError(error: unknown, of?: NamesOf): unknown {
  return error instanceof TenureError ? serviceErrorOf(error, of) : error;
}

export function serviceErrorOf(error: TenureError, of?: NamesOf): ServiceError {
  const code: ErrorCode = error.code;
  if (code === "CLOSED") {
    return new ServiceError(
      "BACKEND_UNAVAILABLE",
      "this server is stopping; use another server",
      {},
      { cause: error },
    );
  }
  if (error instanceof InvalidRequestError) {
    const field = wireField(error.field, of);
    const problem = error.problemWith((other) => wireField(other, of));
    return invalid(field, problem, { cause: error });
  }
  if (error instanceof InvalidTtlError) {
    const field = wireField(error.field, of);
    const bounds = { field, min_ttl_ms: error.minTtlMs, max_ttl_ms: error.maxTtlMs };
    const message = `${field} must be from ${error.minTtlMs} to ${error.maxTtlMs}, the limits of this group's policy`;
    return new ServiceError("INVALID_TTL", message, bounds, { cause: error });
  }
  if (error instanceof BackendUnavailableError) {
    return new ServiceError("BACKEND_UNAVAILABLE", "the store is unavailable; retry", {}, { cause: error });
  }
  return new ServiceError(code, error.message, {}, { cause: error });
}

/** Credentials that are missing, wrong or expired. `message` says how to fix them. */
export function unauthenticated(message: string, cause?: unknown): ServiceError {
  return new ServiceError("UNAUTHENTICATED", message, {}, cause === undefined ? undefined : { cause });
}

/** A request that can never succeed. `field` is its name on the wire. */
export function invalid(field: string, problem: string, options?: ErrorOptions): ServiceError {
  return new ServiceError(
    "INVALID_REQUEST",
    `${field === "body" ? "the body" : field} ${problem}`,
    { field, problem },
    options,
  );
}

/** Rejects with the error of the API where `work` rejects with an error of the elector. */
export function mapErrors<T>(work: Promise<T>, of?: NamesOf): Promise<T> {
  return work.catch((error: unknown) => {
    throw asServiceError(error, of);
  });
}

/** The error that `check` throws, or `null`. */
export function refusalOf(check: () => void): ServiceError | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

export function notLeader(result: NotLeader): ServiceError {
  const current = currentLeaderShape(result);
  const message =
    current === null
      ? "this group has no leader"
      : `${current.node_id} leads this group, term ${current.term}`;
  return new ServiceError("NOT_LEADER", message, { current_leader: current });
}
