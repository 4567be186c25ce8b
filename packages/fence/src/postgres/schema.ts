/**
 * The fence inside PostgreSQL: a table with the highest term of each group, and `tenure_fence(group, term)`, to be called
 * first in every transaction of a leader. It refuses a stale term, records a newer one, and holds the row until the
 * transaction ends. So the transactions of two leaders never overlap: the older one's is over, as a whole, before the
 * newer one's passes the fence, or it is refused.
 *
 * - Transactions of one term share the row and do not wait for each other. A newer term waits for them.
 * - Under REPEATABLE READ a newer leader that has waited would not see what it waited for: its snapshot is older. Only a
 *   row that was written makes PostgreSQL notice (40001), so there every transaction writes it, and they go one by one.
 *   Under SERIALIZABLE that is not needed: PostgreSQL finds the cycle by itself. READ COMMITTED looks anew at each statement.
 * - PostgreSQL lets those who share a row in past one who waits to write it, so an old leader with enough connections
 *   could keep a new one out for ever. Advisory locks are granted in turn; they are the queue, the row is the truth.
 * - The row is looked at without a lock first. To share it and then to write it would be a deadlock of two newcomers.
 */

/** Of the error that a stale term raises. Its DETAIL is JSON: group_id, term, highest_term. */
export const STALE_TERM_SQLSTATE = "TN409";

/** Raised with every change of what is below. */
const VERSION = "Tenure fence, version 1";
/** Of the lock by which migrations come one after the other: "tenure f" as bytes. */
const MIGRATION_LOCK = 0x74656e757265_20_66n;

/** The first half of the keys of those who queue, "tenf" as bytes; the other is the hash of the group. */
const QUEUE_LOCK = 0x74656e66;

/** The body of the function. `%` is doubled, and `%1$I` the schema, since it goes through `format`. */
const FUNCTION = `
CREATE OR REPLACE FUNCTION %1$I.tenure_fence(for_group text, of_term bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $fence$
DECLARE
  highest bigint;
BEGIN
  IF for_group IS NULL OR for_group = '' OR of_term IS NULL OR of_term < 1 THEN
    RAISE EXCEPTION 'tenure_fence needs a group and a term from 1 on'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT f.term INTO highest FROM %1$I.tenure_fence_term f WHERE f.group_id = for_group;
  IF highest = of_term AND current_setting('transaction_isolation') <> 'repeatable read' THEN
    PERFORM pg_advisory_xact_lock_shared(${QUEUE_LOCK}, hashtext(for_group));
    SELECT f.term INTO highest FROM %1$I.tenure_fence_term f WHERE f.group_id = for_group FOR SHARE;
  ELSIF highest IS NULL OR highest <= of_term THEN
    PERFORM pg_advisory_xact_lock(${QUEUE_LOCK}, hashtext(for_group));
    INSERT INTO %1$I.tenure_fence_term AS f (group_id, term) VALUES (for_group, of_term)
    ON CONFLICT (group_id) DO UPDATE SET term = greatest(f.term, excluded.term)
    RETURNING f.term INTO highest;
  END IF;
  IF highest IS DISTINCT FROM of_term THEN
    RAISE EXCEPTION 'STALE_TERM: term %% of group %% is over, term %% has been admitted', of_term, for_group, highest
      USING ERRCODE = '${STALE_TERM_SQLSTATE}',
        DETAIL = json_build_object('group_id', for_group, 'term', of_term, 'highest_term', highest),
        HINT = 'A later leader has been here. Stop the work of this term.';
  END IF;
END $fence$`;

/**
 * Makes what is missing in the first schema of the search path; harmless where nothing is, and when several run it at
 * once. One statement, so every client can send it. Roles that are not its owner need SELECT, INSERT and UPDATE on
 * `tenure_fence_term`.
 */
export const POSTGRES_FENCE_SQL: string = `
DO $migration$
DECLARE
  home text := current_schema();
BEGIN
  IF home IS NULL THEN
    RAISE EXCEPTION 'the search_path names no schema to put tenure_fence in' USING ERRCODE = 'invalid_schema_name';
  END IF;
  PERFORM pg_advisory_xact_lock(${MIGRATION_LOCK});
  IF to_regclass(format('%I.tenure_fence_term', home)) IS NOT NULL AND obj_description(
    to_regprocedure(format('%I.tenure_fence(text,bigint)', home)), 'pg_proc') = '${VERSION}' THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE IF NOT EXISTS %I.tenure_fence_term (
    group_id text COLLATE "C" PRIMARY KEY,
    term bigint NOT NULL CHECK (term > 0)
  )', home);
  EXECUTE format($function$${FUNCTION}$function$, home);
  EXECUTE format('COMMENT ON FUNCTION %I.tenure_fence(text, bigint) IS %L', home, '${VERSION}');
END $migration$`;
