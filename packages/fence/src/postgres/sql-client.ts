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

interface Emitter {
  on?(event: "error", listener: (error: unknown) => void): unknown;
  off?(event: "error", listener: (error: unknown) => void): unknown;
}

export interface HeardErrors {
  readonly first: unknown;
  /** The connection is lost, and may emit more of it later: `stop` does nothing from now on. */
  keep(): void;
  stop(): void;
}

/**
 * Hears what a client such as that of pg emits when its connection is lost, until `stop`. Without a listener Node would end
 * the process; the statement that fails next reports it to the caller.
 */
export function hearErrors(client: SqlClient): HeardErrors {
  const emitter = client as Emitter;
  let first: unknown;
  let isKept = false;
  const listener = (error: unknown): void => {
    first ??= error;
  };
  emitter.on?.("error", listener);
  return {
    get first() {
      return first;
    },
    keep: () => {
      isKept = true;
    },
    stop: () => {
      if (!isKept) emitter.off?.("error", listener);
    },
  };
}
