/**
 * The store in a PostgreSQL database, for any number of servers. It keeps leases as rows and holds no session state,
 * so it works behind a transaction pooler; `PostgresStore` says what it promises and what it leaves to the database.
 */
export { parsePostgresUrl, type PostgresStoreOptions } from "./options.js";
export type { PgPoolLike } from "./pool-like.js";
export { PostgresStore } from "./postgres-store.js";
export { postgresSchemaSql } from "./schema.js";
