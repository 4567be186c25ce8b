/**
 * Every error code of the service with its HTTP status, its gRPC status and the error class that the client throws for it.
 * The opposite direction needs no table: an error of the library has its code. If a code of core is missing here, this file
 * does not compile.
 */
import {
  BackendUnavailableError,
  ConflictError,
  type ErrorCode,
  GroupNotFoundError,
  InvalidRequestError,
  InvalidTtlError,
  TooManyGroupsError,
  type TenureError,
  UnauthorizedError,
} from "@tenure/core";
import { libraryField } from "./field-names.js";
import type { ErrorReply } from "./schemas/shapes.js";

/** The fields of an error body. Only `error` and `message` are always there. */
export type Refusal = Pick<ErrorReply, "error" | "message"> & Partial<ErrorReply>;

/** Fields of the request that the answer does not repeat and that the error needs. */
export interface AskedOf {
  readonly groupId?: string;
  readonly ttlMs?: number;
}

export interface ErrorMeaning {
  readonly http: number;
  /** The status code of gRPC. */
  readonly grpc: number;
  /** `null`: core has no class for it. */
  readonly error: ((refusal: Refusal, asked: AskedOf) => TenureError) | null;
}

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** For a bound that the service did not send. */
const UNKNOWN = Number.NaN;

export const ERRORS = {
  INVALID_REQUEST: {
    http: 400,
    grpc: INVALID_ARGUMENT,
    // Older services do not send `problem`; their message contains it.
    error: ({ field = "request", problem, message }) =>
      new InvalidRequestError(libraryField(field), problem ?? message),
  },
  INVALID_TTL: {
    http: 422,
    grpc: INVALID_ARGUMENT,
    error: ({ field = "request", min_ttl_ms: min, max_ttl_ms: max }, { ttlMs = UNKNOWN }) =>
      new InvalidTtlError(libraryField(field), ttlMs, min ?? UNKNOWN, max ?? UNKNOWN),
  },
  UNAUTHENTICATED: { http: 401, grpc: UNAUTHENTICATED, error: null },
  UNAUTHORIZED: {
    http: 403,
    grpc: PERMISSION_DENIED,
    error: ({ message }) => new UnauthorizedError(message),
  },
  FOREIGN_REQUEST: {
    http: 403,
    grpc: PERMISSION_DENIED,
    error: ({ message }) => new UnauthorizedError(message),
  },
  GROUP_NOT_FOUND: {
    http: 404,
    grpc: NOT_FOUND,
    error: (_, { groupId = "" }) => new GroupNotFoundError(groupId),
  },
  NOT_FOUND: { http: 404, grpc: NOT_FOUND, error: null },
  // An outcome of renewals and resignations, and no error of the library.
  NOT_LEADER: { http: 409, grpc: FAILED_PRECONDITION, error: null },
  CONFLICT: { http: 409, grpc: FAILED_PRECONDITION, error: ({ message }) => new ConflictError(message) },
  BODY_TOO_LARGE: { http: 413, grpc: RESOURCE_EXHAUSTED, error: null },
  RATE_LIMITED: { http: 429, grpc: RESOURCE_EXHAUSTED, error: null },
  TOO_MANY_GROUPS: {
    http: 429,
    grpc: RESOURCE_EXHAUSTED,
    error: ({ message }) => new TooManyGroupsError(message),
  },
  TOO_MANY_WAITING: { http: 429, grpc: RESOURCE_EXHAUSTED, error: null },
  BACKEND_UNAVAILABLE: {
    http: 503,
    grpc: UNAVAILABLE,
    error: ({ message }) => new BackendUnavailableError(message),
  },
} as const satisfies Readonly<Record<string, ErrorMeaning>> &
  Readonly<Record<Exclude<ErrorCode, "CLOSED">, ErrorMeaning>>;

export type ServiceCode = keyof typeof ERRORS;

/** The error of core for a refusal; `null` if core has no class for its code. */
export function coreErrorOf(refusal: Refusal, asked: AskedOf): TenureError | null {
  const meaning: ErrorMeaning | undefined = (ERRORS as Readonly<Record<string, ErrorMeaning>>)[refusal.error];
  return meaning?.error?.(refusal, asked) ?? null;
}
