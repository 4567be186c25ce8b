/** What the errors of PostgreSQL tell, by SQLSTATE and never by their message. */
import { isTerm } from "../check.js";
import { StaleTermError } from "../errors.js";
import type { TermClaim } from "../gate/term-gate.js";
import { STALE_TERM_SQLSTATE } from "./schema.js";

const SERIALIZATION_FAILURE = "40001";
const LOCK_NOT_AVAILABLE = "55P03";
const IN_FAILED_TRANSACTION = "25P02";
/** The connection is gone, or the server is going: the answer to what was sent last is not known. */
const LOST = /^(?:08|57P)/;
/** A digit is in every one of them, and not in EPIPE. */
const SQLSTATE = /^(?=.*[0-9])[0-9A-Z]{5}$/;

/** A refusal of `tenure_fence` as `StaleTermError`; anything else is returned as it is. */
export function asStaleTermError(error: unknown, claim?: TermClaim): unknown {
  if (sqlStateOf(error) !== STALE_TERM_SQLSTATE) return error;
  const told = readDetail(error);
  const groupId = told.group_id ?? claim?.groupId ?? "?";
  const term = told.term ?? claim?.term ?? 0;
  const highestTerm = isTerm(told.highest_term) ? told.highest_term : null;
  return new StaleTermError(groupId, term, highestTerm, { cause: error });
}

/** Nothing was done, and the same again may well succeed. */
export function isSerializationFailure(error: unknown): boolean {
  return sqlStateOf(error) === SERIALIZATION_FAILURE;
}

/** `lock_timeout` has passed. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === LOCK_NOT_AVAILABLE;
}

/** An earlier statement of the transaction has failed; it can only be rolled back. */
export function isInFailedTransaction(error: unknown): boolean {
  return sqlStateOf(error) === IN_FAILED_TRANSACTION;
}

/** Whether the server itself has refused: then the transaction is known not to have happened. */
export function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== null && !LOST.test(state);
}

export function sqlStateOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && SQLSTATE.test(code) ? code : null;
}

function readDetail(error: unknown): { group_id?: string; term?: number; highest_term?: unknown } {
  const { detail } = error as { detail?: unknown };
  try {
    return typeof detail === "string" ? (JSON.parse(detail) as object) : {};
  } catch {
    // Cut short by somebody in between: what the caller asked for is known all the same.
    return {};
  }
}
