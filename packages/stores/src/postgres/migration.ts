import { InvalidRequestError } from "@tenure/core";
import { codeOf, isMissingSchema, sentence } from "./failures.js";
import type { PostgresConfig } from "./options.js";
import { namesOf, postgresSchemaSql, SCHEMA_VERSION } from "./schema.js";
import type { PostgresSession } from "./session.js";

const OLDEST_SERVER = 120_000;
const SETTINGS = `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
  current_setting('transaction_isolation')`;

/**
 * Sees to it that the tables are there, in the version that this store speaks. `connect` is asked again when a query has
 * failed: that ends a session.
 */
export async function prepareSchema(
  config: PostgresConfig,
  connect: () => Promise<PostgresSession>,
): Promise<PostgresSession> {
  let session = await connect();
  try {
    await checkServer(session);
    const found = await readVersion(session, config.schema);
    if (found === SCHEMA_VERSION) return session;
    if (found !== null) throw versionRefused(config.schema, found);
    if (!config.migrate) throw missing(config.schema, "is not there or not complete");
    if (!session.isUsable) session = await connect();
    await migrate(session, config.schema);
    return session;
  } catch (error) {
    await session.end();
    throw error;
  }
}

async function checkServer(session: PostgresSession): Promise<void> {
  const [version, encoding, isolation] = (await session.query(SETTINGS)).rows[0] ?? [];
  if (Number(version) < OLDEST_SERVER)
    throw refused("names a server older than PostgreSQL 12; must be 12 or newer");
  if (encoding !== "UTF8") throw refused(`names a database with the encoding ${encoding}; must be UTF8`);
  // Under another the writers would not wait for each other but fail.
  if (isolation !== "read committed") {
    const what = `has default_transaction_isolation = '${isolation}' for its role or database`;
    throw refused(
      `${what}; must be 'read committed': ALTER ROLE … SET default_transaction_isolation = 'read committed'`,
    );
  }
}

/** `null`: there is none. */
async function readVersion(session: PostgresSession, schema: string): Promise<number | null> {
  try {
    const { rows } = await session.query(`SELECT max(version) FROM ${namesOf(schema).schema}.version`);
    const version = rows[0]?.[0] ?? null;
    return version === null ? null : Number(version);
  } catch (error) {
    if (isMissingSchema(error)) return null;
    throw explain(schema, error);
  }
}

async function migrate(session: PostgresSession, schema: string): Promise<void> {
  try {
    await session.execute(postgresSchemaSql(schema));
  } catch (error) {
    throw explain(schema, error);
  }
}

function explain(schema: string, error: unknown): unknown {
  if (codeOf(error)?.startsWith("42") !== true) return error;
  return missing(schema, `cannot be made or read by its role (${sentence(error)})`, error);
}

function missing(schema: string, what: string, cause?: unknown): InvalidRequestError {
  const sql = postgresSchemaSql(schema);
  return refused(`names the schema ${schema}, which ${what}; let somebody who may run this:\n${sql}`, cause);
}

function versionRefused(schema: string, found: number): InvalidRequestError {
  const versions = `version ${found}, and this Tenure speaks version ${SCHEMA_VERSION}`;
  return refused(
    `names the schema ${schema}, which is of ${versions}; upgrade this Tenure, or name another schema`,
  );
}

function refused(problem: string, cause?: unknown): InvalidRequestError {
  return new InvalidRequestError("store", problem, cause === undefined ? undefined : { cause });
}
