/**
 * A worker that delivers the messages of an outbox table: one process at a time, in order, and no late leader can record
 * a delivery.
 *
 *     DATABASE_URL=postgres://… node examples/dist/postgres-worker.js a     # and b in another terminal
 *     psql "$DATABASE_URL" -c "INSERT INTO outbox (url, body) VALUES ('http://127.0.0.1:9000/', '{}')"
 *
 * A leader that is frozen while it delivers a message has been replaced when it resumes. Its transaction carries its old
 * term, and the fence refuses it: `fenced` rejects with `StaleTermError`, and nothing is written. The receiver got the
 * message from both leaders, so each message has an idempotency key.
 */
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { Election, openElector } from "@tenure/client";
import { fenced, POSTGRES_FENCE_SQL, type SqlClient, StaleTermError } from "@tenure/fence";
import { Pool } from "pg";

const GROUP = "outbox";
const POLL_MS = 200;
const DELIVERY_TIMEOUT_MS = 30_000;
const OUTBOX_SQL = `CREATE TABLE IF NOT EXISTS outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text NOT NULL, body jsonb NOT NULL, delivered_in_term bigint)`;

interface Message {
  readonly id: string;
  readonly url: string;
  readonly body: unknown;
}

const [nodeId = `worker-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
pool.on("error", (error) => say(`lost a connection: ${error.message}`));
await pool.query(POSTGRES_FENCE_SQL); // A migration can do this, too.

const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const election = new Election(elector, { groupId: GROUP, nodeId, ttlMs: 5_000 });

election
  .onPromote(async ({ term }, signal) => {
    await inTerm(term, (transaction) => transaction.query(OUTBOX_SQL));
    say(`leads in term ${term}`);
    while (!signal.aborted) {
      const message = await oldestMessage();
      if (message === null) await wait(POLL_MS, undefined, { signal });
      else await deliver(message, term);
    }
  })
  .onDemote((reason) => say(`no longer leads: ${reason}`));
election.on("hook-failed", ({ error }) => say(`failed: ${String(error)}`));

async function oldestMessage(): Promise<Message | null> {
  const { rows } = await pool.query<Message>(
    "SELECT id, url, body FROM outbox WHERE delivered_in_term IS NULL ORDER BY id LIMIT 1",
  );
  return rows[0] ?? null;
}

/** A message that was sent cannot be taken back, so the signal of the leadership does not end the request. */
async function deliver({ id, url, body }: Message, term: number): Promise<void> {
  say(`delivers ${id} in term ${term}`);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": `${GROUP}/${id}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(DELIVERY_TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  await response.arrayBuffer();
  await record(id, term);
}

async function record(id: string, term: number): Promise<void> {
  try {
    await inTerm(term, (transaction) =>
      transaction.query("UPDATE outbox SET delivered_in_term = $2 WHERE id = $1", [id, term]),
    );
    say(`delivered ${id} in term ${term}`);
  } catch (error) {
    if (!(error instanceof StaleTermError)) throw error;
    say(`was refused ${id} in term ${term}: term ${error.highestTerm} has written`);
  }
}

async function inTerm<T>(term: number, run: (transaction: SqlClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    return await fenced(client, { groupId: GROUP, term }, run);
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    // A connection on which something failed is not used again.
    client.release(failure);
  }
}

const asked = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await election.start();
await asked;
// Waits until the message that is being delivered is recorded.
await election.stop({ timeoutMs: DELIVERY_TIMEOUT_MS });
await elector.close();
await pool.end();
say("has stopped");
