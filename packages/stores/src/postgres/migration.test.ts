import { randomUUID } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { contents, Follower, sql, swap } from "./postgres.test-kit.js";
import { postgresSchemaSql } from "./schema.js";

describe.skipIf(isMissing("postgres"))("the schema of a PostgresStore", () => {
  let engine: PostgresEngine;
  let server = "";
  beforeAll(async () => {
    engine = await startPostgres();
    server = `127.0.0.1:${engine.ports[0]}`;
    await sql(engine.url, "CREATE ROLE guest LOGIN");
    await sql(engine.url, "CREATE ROLE strict LOGIN SUPERUSER");
    await sql(engine.url, "ALTER ROLE strict SET default_transaction_isolation = 'serializable'");
    await sql(engine.url, "CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'");
  });
  afterAll(() => engine?.stop());

  let schema = "";
  beforeEach(() => {
    schema = `test-${randomUUID()}`;
  });
  const refusal = async (url: string): Promise<string> => {
    const error: unknown = await openStore(url).then(
      (store) => store.close(),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect((error as InvalidRequestError).field).toBe("store");
    return (error as Error).message;
  };

  test("the schema is created by the first of many stores that start at once", async () => {
    const stores = await Promise.all(
      Array.from({ length: 12 }, () => openStore(`${engine.url}?schema=${schema}`)),
    );
    const revisions = await Promise.all(stores.map((store, i) => swap(store, `r/${i}`, null, "1")));
    expect(new Set(revisions).size).toBe(stores.length);
    for (const store of stores) await store.close();
  });

  test("a schema of a newer version is refused and left unchanged", async () => {
    await (await openStore(`${engine.url}?schema=${schema}`)).close();
    await sql(engine.url, `UPDATE "${schema}".version SET version = 2`);
    expect(await refusal(`${engine.url}?schema=${schema}`)).toMatch(
      /is of version 2, and this Tenure speaks version 1/,
    );
    expect(await sql(engine.url, `SELECT version FROM "${schema}".version`)).toEqual([{ version: 2 }]);
  });

  test("the schema is not created with migrate=false, and the error contains the SQL to run", async () => {
    const message = await refusal(`${engine.url}?schema=${schema}&migrate=false`);
    const told = message.slice(message.indexOf("BEGIN;"));
    expect(told).toBe(postgresSchemaSql(schema));
    const url = `postgres://guest@${server}/postgres?schema=${schema}`;
    expect(await refusal(url)).toContain("permission denied");
    expect(await refusal(url)).toContain(told);

    await sql(engine.url, told);
    expect(await refusal(`${url}&migrate=false`)).toContain("permission denied");
    await sql(engine.url, `GRANT USAGE ON SCHEMA "${schema}" TO guest`);
    await sql(
      engine.url,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO guest`,
    );
    const store = await openStore(`${url}&migrate=false`);
    const follower = new Follower(store);
    await follower.reach(await swap(store, "r/a", null, "1"));
    await follower.reach(await store.sync());
    await follower.stop();
    await store.close();
  });

  test("a schema created by another user may be filled by its owner", async () => {
    await sql(engine.url, `CREATE SCHEMA "${schema}" AUTHORIZATION guest`);
    const store = await openStore(`postgres://guest@${server}/postgres?schema=${schema}`);
    await swap(store, "r/a", null, "1");
    await store.close();
  });

  test("each schema is a separate store", async () => {
    const stores = await Promise.all(
      ["a", "b"].map((end) => openStore(`${engine.url}?schema=${schema}${end}`)),
    );
    for (const [i, store] of stores.entries()) expect(await swap(store, "r/a", null, `${i}`)).toBe(1);
    for (const [i, store] of stores.entries()) {
      expect((await contents(store)).get("r/a")?.value).toBe(`${i}`);
      await store.close();
    }
  });

  test("a database without read committed isolation or UTF8 is refused", async () => {
    expect(await refusal(`postgres://strict@${server}/postgres?schema=${schema}`)).toMatch(
      /must be 'read committed'/,
    );
    expect(await refusal(`postgres://postgres@${server}/latin?schema=${schema}`)).toMatch(
      /LATIN1; must be UTF8/,
    );
  });
});
