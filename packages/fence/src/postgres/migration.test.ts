import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { POSTGRES_FENCE_SQL } from "./schema.js";

describe.skipIf(isMissing("postgres"))("the fence of a database", () => {
  let engine: PostgresEngine;
  beforeAll(async () => {
    engine = await startPostgres();
  });
  afterAll(() => engine?.stop());

  const clients: Client[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });
  const connect = async (user = "postgres", database = "postgres"): Promise<Client> => {
    const client = new Client(`postgres://${user}@127.0.0.1:${engine.ports[0]}/${database}`);
    await client.connect();
    clients.push(client);
    return client;
  };

  test("the fence is created by the first of many concurrent migrations", async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => connect()));
    await Promise.all(all.map((client) => client.query(POSTGRES_FENCE_SQL)));
    await Promise.all(all.map((client) => client.query("SELECT tenure_fence('g', 1)")));
  });

  test("an existing fence is left unchanged, even by a user who may not create it", async () => {
    const owner = await connect();
    await owner.query("CREATE DATABASE shared");
    await owner.query("CREATE ROLE app LOGIN");
    const admin = await connect("postgres", "shared");
    await admin.query(POSTGRES_FENCE_SQL);
    await admin.query("SELECT tenure_fence('g', 5)");
    await admin.query("GRANT SELECT, INSERT, UPDATE ON tenure_fence_term TO app");
    const app = await connect("app", "shared");
    await app.query(POSTGRES_FENCE_SQL);
    await app.query("SELECT tenure_fence('g', 6)");
    await expect(app.query("SELECT tenure_fence('g', 5)")).rejects.toMatchObject({ code: "TN409" });
  });

  test("the fence is in the first schema of the search path, and stays there whatever the path is later", async () => {
    const client = await connect();
    for (const schema of ["one", 'Two"s']) {
      const quoted = `"${schema.replaceAll('"', '""')}"`;
      await client.query(`CREATE SCHEMA ${quoted}`);
      await client.query(`SET search_path TO ${quoted}`);
      await client.query(POSTGRES_FENCE_SQL);
      await client.query("RESET search_path");
      await client.query(`SELECT ${quoted}.tenure_fence('g', 7)`);
      const { rows } = await client.query<{ term: string }>(`SELECT term FROM ${quoted}.tenure_fence_term`);
      expect(rows).toEqual([{ term: "7" }]);
    }
    await client.query("SET search_path TO nowhere");
    await expect(client.query(POSTGRES_FENCE_SQL)).rejects.toMatchObject({ code: "3F000" });
  });

  test("the fence may be created in a transaction of the program's own migrations, at any isolation level", async () => {
    const client = await connect();
    for (const [i, level] of ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].entries()) {
      await client.query(`BEGIN ISOLATION LEVEL ${level}`);
      await client.query(`CREATE SCHEMA level_${i}`);
      await client.query(`SET LOCAL search_path TO level_${i}`);
      await client.query(POSTGRES_FENCE_SQL);
      await client.query(POSTGRES_FENCE_SQL);
      await client.query("SELECT tenure_fence('g', 1)");
      await client.query("COMMIT");
    }
  });

  test("the fence refuses an invalid group or term", async () => {
    const client = await connect();
    await client.query(POSTGRES_FENCE_SQL);
    for (const claim of ["NULL, 1", "'', 1", "'g', NULL", "'g', 0", "'g', -1"]) {
      await expect(client.query(`SELECT tenure_fence(${claim})`)).rejects.toMatchObject({ code: "22023" });
    }
  });
});
