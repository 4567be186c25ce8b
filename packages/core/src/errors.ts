/**
 * All errors, as a closed set of codes. Outcomes that the protocol expects (a lost campaign, a renewal by a node that
 * no longer leads) are values, never errors.
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

/** Narrow on `code`; the message is for people and may change. */
export abstract class TenureError extends Error {
  abstract readonly code: ErrorCode;

  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * What is wrong with a field. A problem that mentions other fields is a function, because each surface has its own
 * names for fields.
 */
export type Problem = string | ((nameOf: (field: string) => string) => string);

/** A value that can never be right: wrong type, out of bounds, unknown key. `field` names it, `problem` says what is wrong. */
export class InvalidRequestError extends TenureError {
  readonly code = "INVALID_REQUEST";
  /** By its name in the library, as in `policy.minTtlMs`. */
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

  /** The same, with the names that fields have on another surface, such as the wire or a command line. */
  problemWith(nameOf: (field: string) => string): string {
    return problemIn(this.#problem, nameOf);
  }
}

function problemIn(problem: Problem, nameOf: (field: string) => string = (field) => field): string {
  return typeof problem === "string" ? problem : problem(nameOf);
}

/** A ttl that the group's policy does not admit. */
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

/** This elector requires groups to be created first, and this group was not. */
export class GroupNotFoundError extends TenureError {
  readonly code = "GROUP_NOT_FOUND";

  constructor(groupId: string) {
    super(`group ${groupId} does not exist; create it first`);
  }
}

/** The group's current state does not allow an operator's request. */
export class ConflictError extends TenureError {
  readonly code = "CONFLICT";
}

/**
 * Another group would exceed a limit of the elector. Nothing was written. The same request can succeed after a deletion
 * or with a higher limit.
 */
export class TooManyGroupsError extends TenureError {
  readonly code = "TOO_MANY_GROUPS";
  /** The option of `StoreElector` that sets the limit; absent if a service did not say. */
  readonly option: "maxGroups" | "maxGroupsPerNode" | undefined;
  readonly limit: number | undefined;

  constructor(message: string, option?: "maxGroups" | "maxGroupsPerNode", limit?: number) {
    super(message);
    this.option = option;
    this.limit = limit;
  }
}

/**
 * The store did not answer in time, or has no quorum. The outcome of the request is unknown: a write may or may not
 * have happened, and a leader keeps its old deadline.
 */
export class BackendUnavailableError extends TenureError {
  readonly code = "BACKEND_UNAVAILABLE";
}

/** Converts any failure of a store's driver into an error that callers know. */
export function asBackendError(cause: unknown): TenureError {
  if (cause instanceof TenureError) return cause;
  return new BackendUnavailableError("the store failed", { cause });
}

/** The call came after `close()`, or `close()` ended it. */
export class ClosedError extends TenureError {
  readonly code = "CLOSED";
}
