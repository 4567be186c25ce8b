/**
 * The codes of electors and stores, as a closed set. Outcomes that the protocol expects, such as a lost campaign or a renewal by a
 * former leader, are values and never errors.
 */
export type ErrorCode =
  | "INVALID_REQUEST"
  | "INVALID_TTL"
  | "UNAUTHORIZED"
  | "GROUP_NOT_FOUND"
  | "CONFLICT"
  | "TOO_MANY_GROUPS"
  | "BACKEND_UNAVAILABLE"
  | "CLOSED";

/**
 * The base of all error classes of Tenure. Each package has its own closed set of codes. Narrow on `code`; the message is for people
 * and may change.
 */
export abstract class CodedError<Code extends string> extends Error {
  abstract readonly code: Code;

  override get name(): string {
    return this.constructor.name;
  }
}

/** An error of an elector or a store. */
export abstract class TenureError extends CodedError<ErrorCode> {}

/** What is wrong with a field. A problem that names other fields is a function, because fields have other names on the wire and on the command line. */
export type Problem = string | ((nameOf: (field: string) => string) => string);

/** A value that is never valid: wrong type, out of bounds, unknown key. `field` names it, `problem` says what is wrong. */
export class InvalidRequestError extends TenureError {
  readonly code = "INVALID_REQUEST";
  /** The name of the field in the library, such as `policy.minTtlMs`. */
  readonly field: string;
  readonly #problem: Problem;

  constructor(field: string, problem: Problem, options?: ErrorOptions) {
    super(`${field} ${problemIn(problem)}`, options);
    this.field = field;
    this.#problem = problem;
  }

  /** What is wrong, without the name of the field: "must be a whole number". */
  get problem(): string {
    return problemIn(this.#problem);
  }

  /** The problem with other names of fields, such as those of the wire or the command line. */
  problemWith(nameOf: (field: string) => string): string {
    return problemIn(this.#problem, nameOf);
  }
}

function problemIn(problem: Problem, nameOf: (field: string) => string = (field) => field): string {
  return typeof problem === "string" ? problem : problem(nameOf);
}

/** A ttl outside of the limits of the group's policy. */
export class InvalidTtlError extends TenureError {
  readonly code = "INVALID_TTL";
  readonly field: string;
  readonly minTtlMs: number;
  readonly maxTtlMs: number;

  constructor(field: string, ttlMs: number, minTtlMs: number, maxTtlMs: number) {
    super(`${field} is ${ttlMs}, the policy of this group admits ${minTtlMs} to ${maxTtlMs}`);
    this.field = field;
    this.minTtlMs = minTtlMs;
    this.maxTtlMs = maxTtlMs;
  }
}

/** The node is not on the group's list of allowed nodes. */
export class UnauthorizedError extends TenureError {
  readonly code = "UNAUTHORIZED";
}

/** This elector requires that groups are created first, and the group does not exist. */
export class GroupNotFoundError extends TenureError {
  readonly code = "GROUP_NOT_FOUND";

  constructor(groupId: string) {
    super(`group ${groupId} does not exist; create it first`);
  }
}

/** A request of an operator that is not possible in the current state of the group. */
export class ConflictError extends TenureError {
  readonly code = "CONFLICT";
}

/**
 * Another group would exceed a limit of the elector. Nothing was written. The same request can only succeed after a group was deleted
 * or the limit was raised.
 */
export class TooManyGroupsError extends TenureError {
  readonly code = "TOO_MANY_GROUPS";
  /** The option of `StoreElector` that sets the limit; absent if the service did not send it. */
  readonly option: "maxGroups" | "maxGroupsPerNode" | undefined;
  readonly limit: number | undefined;

  constructor(message: string, option?: "maxGroups" | "maxGroupsPerNode", limit?: number) {
    super(message);
    this.option = option;
    this.limit = limit;
  }
}

/**
 * The store did not answer in time, or has no quorum. The outcome of the request is unknown: a write may or may not have happened,
 * and a leader keeps its old deadline.
 */
export class BackendUnavailableError extends TenureError {
  readonly code = "BACKEND_UNAVAILABLE";
}

/** The error that callers of a store get, whatever its driver threw. */
export function asBackendError(cause: unknown): TenureError {
  if (cause instanceof TenureError) return cause;
  return new BackendUnavailableError("the store failed", { cause });
}

/** The call came after `close()`, or was ended by it. */
export class ClosedError extends TenureError {
  readonly code = "CLOSED";
}
