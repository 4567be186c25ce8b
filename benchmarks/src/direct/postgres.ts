/** PostgreSQL by `pg`: one prepared compare-and-UPDATE of one row per renewal, one connection per worker. */
import { Client } from "pg";
import type { OpenWorkers } from "./direct-load.js";

/** Half of each page is left free, as in Tenure's own table: a new version then goes beside the old one. */
const TABLE = `
  CREATE TABLE IF NOT EXISTS direct (key text PRIMARY KEY, value text NOT NULL, revision bigint NOT NULL)
    WITH (fillfactor = 50);
  TRUNCATE direct;`;
const INSERT = "INSERT INTO direct VALUES ($1, $2, 0)";
const UPDATE = "UPDATE direct SET value = $2, revision = revision + 1 WHERE key = $1 AND revision = $3";

export const openPostgresUpdates: OpenWorkers = async ({ url, value, inFlight }) => {
  const clients = Array.from({ length: inFlight }, () => new Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  await clients[0]?.query(TABLE);
  return Promise.all(
    clients.map(async (client, index) => {
      const key = `direct/${index}`;
      await client.query(INSERT, [key, value]);
      let revision = 0;
      return async () => {
        const { rowCount } = await client.query({
          name: "renew",
          text: UPDATE,
          values: [key, value, revision],
        });
        if (rowCount !== 1) throw new Error(`the UPDATE of ${key} was refused`);
        revision++;
      };
    }),
  );
};
