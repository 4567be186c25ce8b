/**
 * The tables of the store, and the two procedures that run in the database.
 *
 * `entry` has no index on its revision, so that a renewal changes no index at all: the new version of a row goes onto the same
 * page (a HOT update, for which half of each page is left free), and the next statement that reads the page removes the old
 * version, without a vacuum. An index would be written for each key at each renewal; measured with 50,000 keys, that was 1.7
 * times slower, and the table and its indexes grew to twice the size. No design helps against a transaction that stays open
 * for hours: PostgreSQL keeps all versions since then for it.
 *
 * `change` takes the place of that index: one row per batch, with the ids of the entries that it wrote. A feed reads from it what
 * is new since a revision; a feed that is further behind than `change` reaches reads all of `entry`. The revisions in `change` have
 * no gaps, so a missing row is noticed.
 */
import { createHash } from "node:crypto";

/** Raised with every change of what is below. */
export const SCHEMA_VERSION = 1;

/** How many batches a feed may be behind and still be served by `change`. */
const KEPT_CHANGES = 512;
/** How many rows of it are removed at a time. */
const TRIMMED_CHANGES = 512;
/** Far longer than any queue of writers that move, far shorter than the time after which a client gives up on us. */
const LOCK_LIMIT = "1s";

export interface SchemaNames {
  /** Quoted. */
  readonly schema: string;
  /** Of the advisory lock by which the writers of this schema come one after the other; a 64-bit number. */
  readonly lock: string;
  /** The channel on which feeds are notified of changes. */
  readonly channel: string;
}

export function namesOf(schema: string): SchemaNames {
  const digest = createHash("sha256").update(`tenure ${schema}`).digest();
  return {
    schema: `"${schema.replaceAll('"', '""')}"`,
    lock: digest.readBigInt64BE(0).toString(),
    channel: `tenure_${digest.toString("hex", 0, 8)}`,
  };
}

/**
 * Makes what is missing; harmless where nothing is. For those whose role may not create schemas: let somebody run it who
 * may, then grant the role USAGE on the schema and SELECT, INSERT, UPDATE, DELETE on its tables.
 */
export function postgresSchemaSql(schema: string): string {
  const names = namesOf(schema);
  return [
    "BEGIN;",
    // Else two that start at once would both find nothing, and one would fail.
    `SELECT pg_advisory_xact_lock(${names.lock});`,
    tables(names),
    headFunction(names),
    changesFunction(names),
    compareAndSetProcedure(names),
    `INSERT INTO ${names.schema}.version SELECT ${SCHEMA_VERSION} WHERE NOT EXISTS (SELECT FROM ${names.schema}.version);`,
    "COMMIT;",
  ].join("\n");
}

/** Asked for by name first: CREATE SCHEMA IF NOT EXISTS needs a privilege even if there is nothing to do. */
function tables({ schema }: SchemaNames): string {
  return `
DO $tenure$ BEGIN
  IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF;
END $tenure$;
CREATE TABLE IF NOT EXISTS ${schema}.version (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS ${schema}.entry (
  id integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  key text COLLATE "C" PRIMARY KEY,
  value text NOT NULL,
  revision bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS ${schema}.change (
  revision bigint PRIMARY KEY,
  ids integer[] NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE ${schema}.change ALTER ids SET STORAGE MAIN;`;
}

/**
 * The revision of the last write. Only ever answered by a server that would accept a write, and that has everything
 * which the asking process has seen.
 */
function headFunction({ schema }: SchemaNames): string {
  return `
CREATE OR REPLACE FUNCTION ${schema}.head(seen bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $tenure$
DECLARE
  last bigint;
BEGIN
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE EXCEPTION 'read-only' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  SELECT coalesce(max(c.revision), 0) INTO last FROM ${schema}.change c;
  IF last < seen THEN
    RAISE EXCEPTION 'at revision %, and % has been seen', last, seen USING ERRCODE = 'TN001';
  END IF;
  RETURN last;
END $tenure$;`;
}

/**
 * The entries written after `since`, before them a row without a key that has the head. A stable function sees one
 * snapshot throughout: the one of the statement that calls it.
 */
function changesFunction({ schema }: SchemaNames): string {
  return `
CREATE OR REPLACE FUNCTION ${schema}.changes(since bigint, seen bigint)
RETURNS TABLE (key text, value text, revision bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $tenure$
DECLARE
  steps bigint;
BEGIN
  revision := ${schema}.head(seen);
  RETURN NEXT;
  IF revision <= since THEN RETURN; END IF;
  SELECT count(*) INTO steps FROM ${schema}.change c WHERE c.revision > since;
  IF steps = revision - since THEN
    RETURN QUERY SELECT e.key, e.value, e.revision FROM ${schema}.entry e
      WHERE e.id = ANY (ARRAY(SELECT unnest(c.ids) FROM ${schema}.change c WHERE c.revision > since))
      ORDER BY e.revision;
  ELSE
    RETURN QUERY SELECT e.key, e.value, e.revision FROM ${schema}.entry e
      WHERE e.revision > since ORDER BY e.revision;
  END IF;
END $tenure$;`;
}

/**
 * One batch. Every statement of a procedure sees what was committed before it began, the first after the lock thus all
 * writes of those that held the lock before. In a single statement the lock would come after the snapshot, and the
 * comparison would see the past.
 *
 * The procedure commits by itself, and answers after that. So the lock is never held while the server waits for a client: neither
 * for the rest of a message, nor until the client reads the answer. Losers get what is read after the commit, which is as new
 * as any read.
 */
function compareAndSetProcedure({ schema, lock }: SchemaNames): string {
  return `
CREATE OR REPLACE PROCEDURE ${schema}.compare_and_set(
  keys text[], expected bigint[], contents text[], seen bigint, INOUT written bigint, INOUT conflicts json
) LANGUAGE plpgsql AS $tenure$
DECLARE
  won integer[];
  places bigint[];
BEGIN
  -- All until the commit. Warnings are how a commit tells that it did not wait for its standbys.
  PERFORM set_config('lock_timeout', '${LOCK_LIMIT}', true),
    set_config('client_min_messages', 'warning', true),
    set_config('enable_seqscan', 'off', true);
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  PERFORM pg_advisory_xact_lock(${lock});
  SELECT ${schema}.head(seen) + 1 INTO written;

  WITH replaced AS (
    UPDATE ${schema}.entry e SET value = op.value, revision = written
      FROM unnest(keys, expected, contents) WITH ORDINALITY AS op (key, expected, value, place)
      WHERE e.key = op.key AND e.revision = op.expected
      RETURNING e.id, op.place
  ) SELECT coalesce(array_agg(id), '{}'), coalesce(array_agg(place), '{}') INTO won, places FROM replaced;
  IF cardinality(won) < cardinality(keys) AND array_position(expected, NULL) IS NOT NULL THEN
    WITH absent AS (
      SELECT op.* FROM unnest(keys, expected, contents) WITH ORDINALITY AS op (key, expected, value, place)
        WHERE op.expected IS NULL AND NOT EXISTS (SELECT FROM ${schema}.entry e WHERE e.key = op.key)
    ), created AS (
      INSERT INTO ${schema}.entry (key, value, revision) SELECT a.key, a.value, written FROM absent a
        RETURNING entry.id, entry.key
    ) SELECT won || array_agg(c.id), places || array_agg(a.place) INTO won, places
        FROM created c JOIN absent a ON a.key = c.key;
  END IF;
  IF cardinality(won) > 0 THEN
    INSERT INTO ${schema}.change VALUES (written, won);
    IF written % ${TRIMMED_CHANGES} = 0 THEN
      DELETE FROM ${schema}.change c
        WHERE c.revision > written - ${KEPT_CHANGES + TRIMMED_CHANGES} AND c.revision <= written - ${KEPT_CHANGES};
    END IF;
  ELSE
    written := NULL;
  END IF;
  COMMIT;

  IF cardinality(won) < cardinality(keys) THEN
    BEGIN
      SELECT json_agg(json_build_array(op.place, e.revision, e.value)) INTO conflicts
        FROM unnest(keys) WITH ORDINALITY AS op (key, place) LEFT JOIN ${schema}.entry e ON e.key = op.key
        WHERE op.place <> ALL (places);
    EXCEPTION WHEN OTHERS THEN
      RAISE EXCEPTION 'committed, but: %', SQLERRM USING ERRCODE = 'TN002';
    END;
  END IF;
END $tenure$;`;
}
