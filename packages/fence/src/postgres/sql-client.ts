import { InvalidRequestError } from "@tenure/core";

/** One connection: `Client` or `PoolClient` of pg, or whatever else can do this. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<SqlResult>;
}

export interface SqlResult {
  readonly rows: readonly unknown[];
  /** The word that the server has answered with, where the client tells it. */
  readonly command?: string;
}

/** A pool would spread one transaction over several connections, and the fence would guard nothing. */
export function checkOneConnection(client: SqlClient): void {
  if (typeof client?.query !== "function") {
    throw new InvalidRequestError("client", "must have query(text, values)");
  }
  if ("totalCount" in client || "idleCount" in client) {
    throw new InvalidRequestError("client", "is a pool; give one connection of it: await pool.connect()");
  }
}
