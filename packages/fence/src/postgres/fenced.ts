import { InvalidRequestError } from "@tenure/core";
import { checkId, checkInteger, checkKeys } from "@tenure/core/internal";
import { checkTerm } from "../check.js";
import { CommitUncertainError, FenceUnavailableError, StaleTermError } from "../errors.js";
import type { TermClaim } from "../gate/term-gate.js";
import { checkOneConnection, hearErrors, type SqlClient } from "./sql-client.js";
import {
  asStaleTermError,
  isLockTimeout,
  isRefusal,
  isSerializationFailure,
  sqlStateOf,
} from "./sql-errors.js";
import { TransactionGuard } from "./transaction-guard.js";

export interface FencedOptions extends TermClaim {
  /**
   * Isolation level of the transaction. All leaders of a group must use the same one.
   *
   * @defaultValue that of the session
   */
  readonly isolation?: "read committed" | "repeatable read" | "serializable" | undefined;
  /**
   * How long the transaction may be idle between two statements before PostgreSQL ends its session and rolls it back
   * (`idle_in_transaction_session_timeout`; also `tcp_user_timeout`, for answers that this process does not read). It is how
   * long a leader that freezes inside the transaction can keep its successor waiting, so set it to about the ttl of the
   * lease. If it is too short, work that pauses between statements (a request to another service) loses its session; if it is
   * too long, the group stands still for as long after a freeze. From 1 to 3,600,000. A statement that is running is not
   * idle; `statement_timeout` bounds that.
   *
   * @defaultValue 5000, the ttl that Tenure recommends
   */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * How long to wait for transactions of other terms at the fence; after it `fenced` rejects with `FenceUnavailableError`.
   * It is `lock_timeout` of the transaction, so each lock that the work waits for has the same limit. If it is shorter than
   * the `idleTimeoutMs` of the other leaders, `fenced` may give up before PostgreSQL has ended a frozen one, and has to be
   * called again. From 1 to 3,600,000.
   *
   * @defaultValue twice `idleTimeoutMs`
   */
  readonly lockTimeoutMs?: number | undefined;
  /**
   * Ends the wait for the fence: `fenced` rejects with the signal's reason. With a signal the wait is made of attempts that
   * grow from 100 ms by half each, and the signal is looked at between them, so it can act late by half of the time waited
   * so far. Work that has begun has to heed the signal itself.
   *
   * @defaultValue none: a single attempt that waits for `lockTimeoutMs`
   */
  readonly signal?: AbortSignal | undefined;
}

/** The same with all limits. */
interface Claim extends FencedOptions {
  readonly idleTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

const OPTIONS = ["groupId", "term", "isolation", "idleTimeoutMs", "lockTimeoutMs", "signal"];
const DEFAULT_IDLE_TIMEOUT_MS = 5000;
const MAX_TIMEOUT_MS = 3_600_000;
/**
 * An attempt that ends leaves the queue, and transactions of the older term that came later get in. They are through before
 * an attempt that lasts longer than they do, so attempts grow without a limit of their own.
 */
const FIRST_ATTEMPT_MS = 100;
const ATTEMPT_GROWTH = 1.5;
const BEGIN = {
  "read committed": "BEGIN ISOLATION LEVEL READ COMMITTED",
  "repeatable read": "BEGIN ISOLATION LEVEL REPEATABLE READ",
  serializable: "BEGIN ISOLATION LEVEL SERIALIZABLE",
};
/**
 * One round trip: limits and mark, the fence, and `lock_timeout` of the work. Functions that are volatile are neither left
 * out nor moved, so the innermost is first.
 */
const PASS = `SELECT set_config('lock_timeout', $6, true) FROM (
  SELECT tenure_fence($1::text, $2::bigint) FROM (
    SELECT set_config('lock_timeout', $3, true), set_config('idle_in_transaction_session_timeout', $4, true),
      set_config('tcp_user_timeout', $4, true), set_config('tenure.fence', $5, true)
  ) AS limits
) AS passed`;

/** A connection has one transaction at a time: two would become one, with the fence of either. */
const busy = new WeakSet<SqlClient>();

/**
 * Runs `work` in a transaction behind the fence: BEGIN, `tenure_fence`, work, COMMIT; ROLLBACK if anything fails. The
 * connection must not be in a transaction. A stale term rejects with `StaleTermError`, and nothing has happened. An
 * answer to COMMIT that was lost rejects with `CommitUncertainError`. Work that ends the transaction itself rejects with
 * `TransactionEndedError`; statements that it sends afterwards through the client it was given are refused.
 */
export async function fenced<C extends SqlClient, T>(
  client: C,
  options: FencedOptions,
  work: (client: C) => Promise<T>,
): Promise<T> {
  const claim = check(client, options);
  const guard = new TransactionGuard(client, markOf(claim));
  const errors = hearErrors(client);
  busy.add(client).add(guard.client);
  try {
    await pass(client, claim);
    const result = await work(guard.client);
    await guard.check();
    await commit(client);
    return result;
  } catch (error) {
    if (error instanceof CommitUncertainError) throw error;
    // A connection that cannot roll back is gone, and its transaction with it.
    await client.query("ROLLBACK").catch(() => errors.keep());
    if (isSerializationFailure(error)) {
      const stale = await putOnRecord(client, claim, claim.lockTimeoutMs);
      if (stale !== null) throw stale;
    }
    // Why the server has ended the session says more than that it cannot be used.
    throw asStaleTermError(sqlStateOf(error) === null ? (errors.first ?? error) : error, claim);
  } finally {
    errors.stop();
    busy.delete(client);
  }
}

/**
 * Up to behind the fence. A snapshot older than the last change of the row is refused there (40001): nothing has been done
 * yet, so the transaction is begun again. Each time another one has got ahead, hence this ends.
 */
async function pass(client: SqlClient, claim: Claim): Promise<void> {
  const { groupId, isolation, signal, lockTimeoutMs } = claim;
  let leftMs = lockTimeoutMs;
  let attemptMs = signal === undefined ? leftMs : FIRST_ATTEMPT_MS;
  for (;;) {
    signal?.throwIfAborted();
    const waitMs = Math.min(attemptMs, leftMs);
    await client.query(isolation === undefined ? "BEGIN" : BEGIN[isolation]);
    try {
      await fence(client, claim, waitMs);
      signal?.throwIfAborted();
      return;
    } catch (error) {
      const hasWaited = isLockTimeout(error);
      if (!hasWaited && !isSerializationFailure(error)) throw error;
      await client.query("ROLLBACK");
      if (hasWaited) {
        leftMs -= waitMs;
        attemptMs = Math.ceil(attemptMs * ATTEMPT_GROWTH);
        if (leftMs <= 0) throw notFree(groupId, lockTimeoutMs, error);
        continue;
      }
    }
    const stale = await putOnRecord(client, claim, waitMs);
    if (stale !== null) throw stale;
  }
}

function fence(client: SqlClient, claim: Claim, waitMs: number): Promise<unknown> {
  const { groupId, term, idleTimeoutMs, lockTimeoutMs } = claim;
  const limits = [String(waitMs), String(idleTimeoutMs), markOf(claim), String(lockTimeoutMs)];
  return client.query(PASS, [groupId, term, ...limits]);
}

/** A setting that lasts as long as the transaction: where it is missing, another transaction goes on, or none. */
function markOf({ groupId, term }: TermClaim): string {
  return `${groupId} ${term}`;
}

/**
 * After a serialization failure, which has taken the term off the record again: an older leader that keeps writing
 * could get in the way of every new attempt. READ COMMITTED knows no such failure. Tells if the term itself is stale.
 */
async function putOnRecord(client: SqlClient, claim: Claim, waitMs: number): Promise<StaleTermError | null> {
  try {
    await client.query(BEGIN["read committed"]);
    await fence(client, claim, waitMs);
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

function notFree(groupId: string, lockTimeoutMs: number, cause: unknown): FenceUnavailableError {
  const why = `a transaction of another leader of group ${groupId} still runs after lockTimeoutMs (${lockTimeoutMs} ms)`;
  return new FenceUnavailableError(`${why}; nothing was done, try again`, { cause });
}

function check(client: SqlClient, options: FencedOptions): Claim {
  checkOneConnection(client);
  if (busy.has(client)) {
    throw new InvalidRequestError("client", "is in a fenced transaction already; use another connection");
  }
  checkKeys(options, "", OPTIONS);
  checkId(options.groupId, "groupId");
  checkTerm(options.term, "term");
  if (options.isolation !== undefined && !Object.hasOwn(BEGIN, options.isolation)) {
    throw new InvalidRequestError("isolation", `must be one of ${Object.keys(BEGIN).join(", ")}`);
  }
  const { idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
  checkInteger(idleTimeoutMs, "idleTimeoutMs", 1, MAX_TIMEOUT_MS);
  const { lockTimeoutMs = Math.min(2 * idleTimeoutMs, MAX_TIMEOUT_MS) } = options;
  checkInteger(lockTimeoutMs, "lockTimeoutMs", 1, MAX_TIMEOUT_MS);
  return { ...options, idleTimeoutMs, lockTimeoutMs };
}
