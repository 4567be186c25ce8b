/**
 * A cron job that fires once in the fleet: on one process per tick, also across a failover.
 *
 *     DATABASE_URL=postgres://… node examples/dist/cron.js a     # and b, c in other terminals
 *
 * Only the leader watches the clock. That alone is not enough: a leader that crashes leaves the group without a leader for up
 * to one ttl, and a leader that was frozen may fire late. So each tick is recorded:
 *
 * - A tick is identified by its scheduled time, which the pattern determines, and not by the time at which it fires. The row
 *   (job, tick) is inserted in one transaction with what the job writes. A crash leaves both or neither.
 * - The transaction is fenced by the term. A late leader is refused, and a new leader waits for a transaction in progress.
 * - A new leader continues after the last recorded tick. If ticks were missed meanwhile, it fires the latest of them at once
 *   and skips the others: a nightly job at 03:00 still runs when the failover takes from 02:59:58 to 03:00:03, and a job of
 *   every second does not run five times in a row. A tick that is later than MAX_LATE_MS is skipped, too.
 * - Clocks that differ between machines move a tick by that difference, and never make it fire twice.
 *
 * If the job acts outside of this database, send `JOB/TICK` as an idempotency key and the term with each request: after a
 * crash between the request and COMMIT, the next leader sends the same key again.
 */
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { Election, openElector } from "@tenure/client";
import { fenced, POSTGRES_FENCE_SQL, type SqlClient } from "@tenure/fence";
import { Cron } from "croner";
import { Pool } from "pg";

const JOB = "report";
const MAX_LATE_MS = 3_600_000;
/** A wait is split, because the wall clock may be set meanwhile. */
const MAX_WAIT_MS = 60_000;

const [nodeId = `cron-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const schedule = new Cron(process.env["CRON"] ?? "*/10 * * * * *", { timezone: "UTC", paused: true });
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
pool.on("error", (error) => say(`lost a connection: ${error.message}`));
await pool.query(POSTGRES_FENCE_SQL);

const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const election = new Election(elector, { groupId: `cron/${JOB}`, nodeId, ttlMs: 5_000 });

election
  .onPromote(async ({ term }, signal) => {
    say(`leads in term ${term}`);
    let last = await begin(term);
    while (!signal.aborted) {
      const tick = nextTick(last);
      if (tick === null) return;
      const waitMs = tick.getTime() - Date.now();
      if (waitMs > 0) {
        await wait(Math.min(waitMs, MAX_WAIT_MS), undefined, { signal });
        continue;
      }
      await fire(tick, term);
      last = tick;
    }
  })
  .onDemote((reason) => say(`no longer leads: ${reason}`));
// The leadership is given up when a tick fails; the next leader fires it again.
election.on("hook-failed", ({ error }) => say(`failed: ${String(error)}`));

/** The latest tick that is due and not recorded, or else the next one. */
function nextTick(last: Date): Date | null {
  const now = Date.now();
  // The last tick up to now: croner looks before the whole second that it is given.
  const [latest] = schedule.previousRuns(1, new Date(now + 1000));
  const isMissed = latest !== undefined && latest > last && now - latest.getTime() <= MAX_LATE_MS;
  return isMissed ? latest : schedule.nextRun(new Date(Math.max(last.getTime(), now)));
}

/** Returns the last recorded tick. The first leader records when the schedule began, so that no tick after it is lost. */
function begin(term: number): Promise<Date> {
  return inTerm(term, async (transaction) => {
    await transaction.query(
      "CREATE TABLE IF NOT EXISTS cron_tick (job text, tick timestamptz, term bigint NOT NULL, PRIMARY KEY (job, tick))",
    );
    await transaction.query(
      `INSERT INTO cron_tick SELECT $1, $2::timestamptz, $3::bigint
       WHERE NOT EXISTS (SELECT FROM cron_tick WHERE job = $1)`,
      [JOB, new Date(), term],
    );
    const { rows } = await transaction.query("SELECT max(tick) AS last FROM cron_tick WHERE job = $1", [JOB]);
    return (rows as [{ last: Date }])[0].last;
  });
}

async function fire(tick: Date, term: number): Promise<void> {
  const isFired = await inTerm(term, async (transaction) => {
    const { rows } = await transaction.query(
      "INSERT INTO cron_tick (job, tick, term) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING tick",
      [JOB, tick, term],
    );
    if (rows.length > 0) await work(transaction, tick);
    return rows.length > 0;
  });
  const time = tick.toISOString();
  say(isFired ? `fired ${time} in term ${term}, ${Date.now() - tick.getTime()} ms late` : `skipped ${time}`);
}

/** The job. What it writes is committed together with the tick. */
async function work(transaction: SqlClient, tick: Date): Promise<void> {
  await transaction.query("SELECT count(*) FROM cron_tick WHERE tick < $1", [tick]);
}

async function inTerm<T>(term: number, run: (transaction: SqlClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    return await fenced(client, { groupId: `cron/${JOB}`, term }, run);
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
await election.stop({ timeoutMs: 10_000 });
await elector.close();
await pool.end();
say("has stopped");
