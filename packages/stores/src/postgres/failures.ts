/** What an error of the server or of its connection means, by SQLSTATE and never by the message, which is translated. */
import { BackendUnavailableError } from "@tenure/core";

/** Raised by our own functions: the server lacks revisions that this process has seen. */
const BEHIND = "TN001";

const READ_ONLY = "25006";
const UNDEFINED_TABLE = "42P01";
const UNKNOWN_SCHEMA = "3F000";

/**
 * With these the server has undone the whole write. Each is raised before the commit, and cannot be raised after it: the
 * procedure raises a failure at the commit again as TN002. All others may come at the commit or later (a cancelled
 * statement, a shutdown, a full disk, every error of a pooler) and leave the write uncertain.
 */
const UNDONE_CLASSES: ReadonlySet<string> = new Set([
  "0A", // feature not supported
  "22", // data exception
  "23", // integrity constraint violation
  "28", // invalid authorization
  "2D", // the procedure may not commit, because it was called within a transaction
  "3D", // no such database
  "3F", // no such schema
  "42", // syntax error or access rule violation
]);
const UNDONE_CODES: ReadonlySet<string> = new Set([
  READ_ONLY, // others of its class are time limits, which may end a session after the commit
  "40001", // serialization failure
  "40P01", // deadlock
  "55P03", // the lock was not free in time
  BEHIND,
]);

export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Nothing was or will be written. */
export function isUndone(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  return UNDONE_CODES.has(code) || UNDONE_CLASSES.has(code.slice(0, 2));
}

/** The tables do not exist. */
export function isMissingSchema(error: unknown): boolean {
  return [UNDEFINED_TABLE, UNKNOWN_SCHEMA].includes(codeOf(error) ?? "");
}

/** Wrong user, password or database: every attempt would fail. */
export function isRefusal(error: unknown): boolean {
  return ["28", "3D"].includes((codeOf(error) ?? "").slice(0, 2));
}

/** This server must not be used; another may do. */
export function isWrongServer(error: unknown): boolean {
  return [READ_ONLY, BEHIND].includes(codeOf(error) ?? "");
}

/** The error for the caller: one sentence, with `cause` as its cause. */
export function unavailable(what: string, cause: unknown): BackendUnavailableError {
  if (cause instanceof BackendUnavailableError) return cause;
  return new BackendUnavailableError(`${what}: ${sentence(cause)}`, { cause });
}

export function sentence(error: unknown): string {
  switch (codeOf(error)) {
    case READ_ONLY:
      return "the server is read-only; a standby, or a primary that was taken out of service";
    case BEHIND:
      return "the server lacks writes that this process has seen; they were lost in a failover or a restore, or it is an old primary. Restart this process if that is meant to be";
    default:
      return error instanceof Error ? error.message || String(codeOf(error)) : String(error);
  }
}
