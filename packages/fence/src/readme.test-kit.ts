import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import {
  fenced,
  fencedFetch,
  FileTermCell,
  MandateVerifier,
  nodeFence,
  POSTGRES_FENCE_SQL,
  type SqlClient,
  StaleTermError,
  TermGate,
} from "./index.js";

/** Of the resource, once at its start: a table and one SQL function. */
export async function prepare(client: SqlClient): Promise<void> {
  await client.query(POSTGRES_FENCE_SQL);
}

/** Of the leader: what it writes is written in its term or not at all. */
export async function book(client: SqlClient, term: number, amount: number): Promise<boolean> {
  try {
    await fenced(client, { groupId: "billing", term }, async (transaction) => {
      await transaction.query("INSERT INTO booking VALUES ($1, $2)", [randomUUID(), amount]);
    });
    return true;
  } catch (error) {
    if (!(error instanceof StaleTermError)) throw error;
    return false; // Somebody else leads: stop the work of this term.
  }
}

/** Of a resource behind HTTP: only the leader gets past `fence`. */
export function serveJobs(service: string, directory: string): Server {
  const fence = nodeFence({
    gate: new TermGate({ cell: new FileTermCell({ directory }) }),
    groupId: "billing",
    mandates: new MandateVerifier({ keys: { url: `${service}/v1/keys` } }),
  });
  return createServer((request, response) => {
    void fence(request, response).then((isAdmitted) => {
      if (isAdmitted) response.end("done");
    });
  });
}

/** Of the leader: `fetch` that says in which term it asks. */
export function leaderFetch(current: () => { term: number; token: string } | null): typeof fetch {
  return fencedFetch(fetch, () => {
    const leading = current();
    return leading === null ? null : { groupId: "billing", ...leading };
  });
}
