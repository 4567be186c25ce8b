import { currentLeaderShape, type NamesOf, type shapes, wireField } from "@tenure/api";
import {
  BackendUnavailableError,
  type ErrorCode,
  InvalidRequestError,
  InvalidTtlError,
  type NotLeader,
  TenureError,
} from "@tenure/core";

/** What a caller can be told, with its one HTTP status. */
export const HTTP_STATUS = {
  INVALID_REQUEST: 400,
  UNAUTHENTICATED: 401,
  UNAUTHORIZED: 403,
  FOREIGN_REQUEST: 403,
  GROUP_NOT_FOUND: 404,
  NOT_FOUND: 404,
  NOT_LEADER: 409,
  CONFLICT: 409,
  BODY_TOO_LARGE: 413,
  INVALID_TTL: 422,
  RATE_LIMITED: 429,
  TOO_MANY_GROUPS: 429,
  TOO_MANY_WAITING: 429,
  BACKEND_UNAVAILABLE: 503,
} as const;

export type ServiceCode = keyof typeof HTTP_STATUS;

type Details = Omit<shapes.ErrorReply, "ok" | "error" | "message">;

/** A refusal of the service, in every transport's words. */
export class ServiceError extends Error {
  readonly code: ServiceCode;
  readonly details: Details;
  readonly retryAfterSeconds: number | undefined;
  /** Routes of an extension have an error handler of their own, which goes by this, as those of Fastify do. */
  readonly statusCode: number;

  constructor(
    code: ServiceCode,
    message: string,
    details: Details = {},
    options?: ErrorOptions & { retryAfterSeconds?: number },
  ) {
    // A refusal is an answer and no fault: its stack is never shown, and capturing it costs a tenth of a refused request.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.statusCode = HTTP_STATUS[code];
    this.details = details;
    this.retryAfterSeconds = options?.retryAfterSeconds ?? (code === "BACKEND_UNAVAILABLE" ? 1 : undefined);
  }

  reply(): shapes.ErrorReply {
    return { ok: false, error: this.code, message: this.message, ...this.details };
  }
}

const FROM_CORE: Readonly<Record<Exclude<ErrorCode, "CLOSED">, ServiceCode>> = {
  INVALID_REQUEST: "INVALID_REQUEST",
  INVALID_TTL: "INVALID_TTL",
  UNAUTHORIZED: "UNAUTHORIZED",
  GROUP_NOT_FOUND: "GROUP_NOT_FOUND",
  CONFLICT: "CONFLICT",
  TOO_MANY_GROUPS: "TOO_MANY_GROUPS",
  BACKEND_UNAVAILABLE: "BACKEND_UNAVAILABLE",
};

/** What the elector refused, told in the words of the wire. Anything else is a fault of ours and stays as it is. */
export function asServiceError(error: unknown, of?: NamesOf): unknown {
  return error instanceof TenureError ? serviceErrorOf(error, of) : error;
}

export function serviceErrorOf(error: TenureError, of?: NamesOf): ServiceError {
  const code: ErrorCode = error.code;
  if (code === "CLOSED") {
    return new ServiceError(
      "BACKEND_UNAVAILABLE",
      "this server is stopping; ask another",
      {},
      { cause: error },
    );
  }
  if (error instanceof InvalidRequestError) {
    const field = wireField(error.field, of);
    // It may name other fields.
    const problem = error.message
      .slice(error.field.length + 1)
      .replaceAll(/\bpolicy(?:\.[A-Za-z]+)+/g, (other) => wireField(other, of));
    return new ServiceError("INVALID_REQUEST", `${field} ${problem}`, { field }, { cause: error });
  }
  if (error instanceof InvalidTtlError) {
    const field = wireField(error.field, of);
    const bounds = { field, min_ttl_ms: error.minTtlMs, max_ttl_ms: error.maxTtlMs };
    const message = `${field} must be from ${error.minTtlMs} to ${error.maxTtlMs} by the policy of this group`;
    return new ServiceError("INVALID_TTL", message, bounds, { cause: error });
  }
  if (error instanceof BackendUnavailableError) {
    return new ServiceError(
      "BACKEND_UNAVAILABLE",
      "the store does not answer; ask again",
      {},
      { cause: error },
    );
  }
  return new ServiceError(FROM_CORE[code], error.message, {}, { cause: error });
}

/** What the elector refuses, in the words of the wire. */
export function told<T>(work: Promise<T>, of?: NamesOf): Promise<T> {
  return work.catch((error: unknown) => {
    throw asServiceError(error, of);
  });
}

/** Why it may not be done, if so. */
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
      ? "nobody leads this group"
      : `${current.node_id} leads this group, term ${current.term}`;
  return new ServiceError("NOT_LEADER", message, { current_leader: current });
}
