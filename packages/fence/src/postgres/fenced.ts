import { InvalidRequestError } from "@tenure/core";
import { checkId, checkKeys, checkTerm } from "../check.js";
import { CommitUncertainError, StaleTermError } from "../errors.js";
import type { TermClaim } from "../gate/term-gate.js";
import { checkOneConnection, type SqlClient } from "./sql-client.js";
import { asStaleTermError, isRefusal, isSerializationFailure } from "./sql-errors.js";

export interface FencedOptions extends TermClaim {
  /** That of the session if not given. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable" | undefined;
  /** Looked at before each attempt; a query that waits for a lock is ended by the session's `lock_timeout`. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = ["groupId", "term", "isolation", "signal"];
const BEGIN = {
  "read committed": "BEGIN ISOLATION LEVEL READ COMMITTED",
  "repeatable read": "BEGIN ISOLATION LEVEL REPEATABLE READ",
  serializable: "BEGIN ISOLATION LEVEL SERIALIZABLE",
};

/** A connection has one transaction at a time: two would become one, with the fence of either. */
const busy = new WeakSet<SqlClient>();

/**
 * Runs `work` in a transaction behind the fence: BEGIN, `tenure_fence`, work, COMMIT; ROLLBACK if anything fails. The
 * connection must not be in a transaction. A stale term rejects with `StaleTermError`, and nothing has happened. An
 * answer to COMMIT that was lost rejects with `CommitUncertainError`.
 */
export async function fenced<C extends SqlClient, T>(
  client: C,
  options: FencedOptions,
  work: (client: C) => Promise<T>,
): Promise<T> {
  check(client, options);
  busy.add(client);
  try {
    await pass(client, options);
    const result = await work(client);
    await commit(client);
    return result;
  } catch (error) {
    if (error instanceof CommitUncertainError) throw error;
    // A connection that cannot roll back is gone, and its transaction with it.
    await client.query("ROLLBACK").catch(() => undefined);
    const stale = isSerializationFailure(error) ? await putOnRecord(client, options) : null;
    throw stale ?? asStaleTermError(error, options);
  } finally {
    busy.delete(client);
  }
}

/**
 * Up to behind the fence. A snapshot older than the last change of the row is refused there (40001): nothing has been done
 * yet, so it is taken anew. Each time somebody else has got ahead, hence this ends.
 */
async function pass(client: SqlClient, options: FencedOptions): Promise<void> {
  const { isolation, signal } = options;
  for (;;) {
    signal?.throwIfAborted();
    await client.query(isolation === undefined ? "BEGIN" : BEGIN[isolation]);
    try {
      await fence(client, options);
      return;
    } catch (error) {
      if (!isSerializationFailure(error)) throw error;
      await client.query("ROLLBACK");
    }
    const stale = await putOnRecord(client, options);
    if (stale !== null) throw stale;
  }
}

function fence(client: SqlClient, { groupId, term }: TermClaim): Promise<unknown> {
  return client.query("SELECT tenure_fence($1::text, $2::bigint)", [groupId, term]);
}

/**
 * After a serialization failure, which has taken the term off the record again: an older leader that keeps writing
 * could get in the way of every new attempt. READ COMMITTED knows no such failure. Tells if the term itself is stale.
 */
async function putOnRecord(client: SqlClient, claim: TermClaim): Promise<StaleTermError | null> {
  try {
    await client.query(BEGIN["read committed"]);
    await fence(client, claim);
    await client.query("COMMIT");
    return null;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    const told = asStaleTermError(error, claim);
    // Anything else is met again by the next attempt.
    return told instanceof StaleTermError ? told : null;
  }
}

async function commit(client: SqlClient): Promise<void> {
  let command: string | undefined;
  try {
    ({ command } = await client.query("COMMIT"));
  } catch (cause) {
    if (isRefusal(cause)) throw cause;
    throw new CommitUncertainError("the answer to COMMIT was lost", { cause });
  }
  // A transaction in which a statement has failed is rolled back by COMMIT, without an error.
  if (command === "ROLLBACK") {
    throw new Error("the transaction was rolled back: a statement in it had failed, and the work went on");
  }
}

function check(client: SqlClient, options: FencedOptions): void {
  checkOneConnection(client);
  if (busy.has(client)) {
    throw new InvalidRequestError("client", "is in a fenced transaction already; use another connection");
  }
  checkKeys(options, OPTIONS);
  checkId(options.groupId, "groupId");
  checkTerm(options.term, "term");
  if (options.isolation !== undefined && !Object.hasOwn(BEGIN, options.isolation)) {
    throw new InvalidRequestError("isolation", `must be one of ${Object.keys(BEGIN).join(", ")}`);
  }
}
