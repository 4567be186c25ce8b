/**
 * What went wrong, as a closed set of codes. What the protocol expects (a lost campaign, a renewal by somebody
 * who no longer leads) is a value of its own and never an error.
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

/** What is wrong with a field. A problem that names other fields is a function: surfaces call fields by names of their own. */
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

  /** The same where fields have other names, as on the wire or on a command line. */
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

/** Groups must be created first on this elector, and this one was not. */
export class GroupNotFoundError extends TenureError {
  readonly code = "GROUP_NOT_FOUND";

  constructor(groupId: string) {
    super(`group ${groupId} does not exist; create it first`);
  }
}

/** An operator's request that the present state of the group does not admit. */
export class ConflictError extends TenureError {
  readonly code = "CONFLICT";
}

/**
 * One group more would exceed a limit of the elector. Nothing was written. It takes a deletion or a higher limit to make
 * the same request succeed.
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
 * The store did not answer in time, or has no quorum. It tells nothing about what was asked: a write may or may
 * not have happened, a leader keeps its old deadline.
 */
export class BackendUnavailableError extends TenureError {
  readonly code = "BACKEND_UNAVAILABLE";
}

/** A store's failure as its callers know it, whatever its driver threw. */
export function asBackendError(cause: unknown): TenureError {
  if (cause instanceof TenureError) return cause;
  return new BackendUnavailableError("the store failed", { cause });
}

/** Called after, or ended by, `close()`. */
export class ClosedError extends TenureError {
  readonly code = "CLOSED";
}
