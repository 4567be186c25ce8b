import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fenced } from "./fenced.js";
import { POSTGRES_FENCE_SQL } from "./schema.js";
import type { SqlClient } from "./sql-client.js";

describe.skipIf(isMissing("postgres"))("work that ends its fenced transaction itself", () => {
  let engine: PostgresEngine;
  let client: Client;
  beforeAll(async () => {
    engine = await startPostgres();
    client = new Client(engine.url);
    await client.connect();
    await client.query(POSTGRES_FENCE_SQL);
    await client.query("CREATE TABLE job (id int PRIMARY KEY)");
  });
  afterAll(async () => {
    await client?.end();
    await engine?.stop();
  });
  beforeEach(async () => {
    await client.query("TRUNCATE tenure_fence_term, job");
  });

  const CLAIM = { groupId: "g", term: 3 };
  const jobs = async (): Promise<unknown[]> =>
    (await client.query<{ id: number }>("SELECT id FROM job ORDER BY id")).rows.map(({ id }) => id);
  const run = (c: SqlClient, ...texts: string[]) =>
    texts.reduce<Promise<unknown>>((before, text) => before.then(() => c.query(text)), Promise.resolve());

  test.each([
    ["COMMIT"],
    ["END"],
    ["ROLLBACK"],
    ["ABORT"],
    ["COMMIT AND CHAIN"],
    ["COMMIT; BEGIN"],
    ["INSERT INTO job VALUES (7); COMMIT"],
  ])("no statement after %s in the work is sent, and fenced rejects with TRANSACTION_ENDED", async (text) => {
    const careless = fenced(client, CLAIM, async (c) => {
      await run(c, "INSERT INTO job VALUES (1)", text, "INSERT INTO job VALUES (2)");
    });
    await expect(careless).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await jobs()).not.toContain(2);
    await fenced(client, CLAIM, (c) => c.query("INSERT INTO job VALUES (3)"));
    expect(await jobs()).toContain(3);
  });

  test.each([["COMMIT"], ["ROLLBACK"], ["COMMIT AND CHAIN"], ["COMMIT; BEGIN"]])(
    "%s through another reference to the connection makes fenced reject with TRANSACTION_ENDED",
    async (text) => {
      const careless = fenced(client, CLAIM, async () => {
        await run(client, "INSERT INTO job VALUES (1)", text);
      });
      await expect(careless).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
      await fenced(client, CLAIM, (c) => c.query("INSERT INTO job VALUES (3)"));
    },
  );

  test("work may use savepoints and roll back to them", async () => {
    await fenced(client, CLAIM, async (c) => {
      await run(c, "INSERT INTO job VALUES (1)", "SAVEPOINT s", "INSERT INTO job VALUES (2)");
      await run(c, "ROLLBACK TO SAVEPOINT s", "INSERT INTO job VALUES (3)", "RELEASE SAVEPOINT s");
    });
    expect(await jobs()).toEqual([1, 3]);
  });

  test("the error of work that has ended its transaction and then failed is the work's own", async () => {
    const failure = new Error("no");
    const failing = fenced(client, CLAIM, async (c) => {
      await c.query("COMMIT");
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
  });

  test("the client that the work is given has all members of the connection", async () => {
    const names = await fenced(client, CLAIM, async (c) => {
      expect(c).toBeInstanceOf(Client);
      expect(c.escapeIdentifier("a b")).toBe('"a b"');
      return (await c.query<{ n: number }>({ text: "SELECT $1::int AS n", values: [4] })).rows;
    });
    expect(names).toEqual([{ n: 4 }]);
  });
});
