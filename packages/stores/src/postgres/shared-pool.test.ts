/** A store over a pool that belongs to the program. */
import { randomUUID } from "node:crypto";
import type { Store } from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { Pool } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { sql } from "./postgres.test-kit.js";
import { PostgresStore } from "./postgres-store.js";

describe.skipIf(isMissing("postgres"))("a PostgreSQL store over the program's pool", () => {
  let engine: PostgresEngine;
  let pool: Pool;
  const pools: Pool[] = [];
  const poolOf = (max: number): Pool => {
    const made = new Pool({ connectionString: engine.url, max });
    made.on("error", () => {});
    pools.push(made);
    return made;
  };
  beforeAll(async () => {
    engine = await startPostgres({ settings: { max_connections: "200" } });
    pool = poolOf(100);
  });
  afterAll(async () => {
    await Promise.all(pools.map((each) => each.end()));
    await engine?.stop();
  });
  const stores: Store[] = [];
  const open = async (of: Pool, schema: string = `test-${randomUUID()}`): Promise<Store> => {
    const store = await PostgresStore.open({ pool: of, schema });
    stores.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  storeConformance({
    test,
    open: (space) => PostgresStore.open({ pool, schema: space }),
    dispose: async (space) => void (await sql(engine.url, `DROP SCHEMA "${space}" CASCADE`)),
  });

  test("closing the store leaves the program's pool open, with all connections returned and reset", async () => {
    const own = poolOf(4);
    const store = await open(own);
    const feed = store.feed()[Symbol.asyncIterator]();
    await feed.next();
    await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    expect((await feed.next()).value).toMatchObject({ kind: "changes" });
    await store.close();
    await expect(store.sync()).rejects.toMatchObject({ code: "CLOSED" });
    expect(own.idleCount).toBe(own.totalCount);
    expect(own.waitingCount).toBe(0);
    const clients = await Promise.all(Array.from({ length: 4 }, () => own.connect()));
    for (const client of clients) {
      expect((await client.query("SELECT 1 AS one, now() AS now")).rows).toEqual([
        { one: 1, now: expect.any(Date) as unknown },
      ]);
      expect((await client.query("SELECT pg_listening_channels()")).rows).toEqual([]);
      // The pool has removed its own listener, and there is no other.
      expect(client.listenerCount("notification")).toBe(0);
      client.release();
    }
  });

  test("a connection that the server has ended is closed, not returned, and the store continues with another", async () => {
    const own = poolOf(4);
    const store = await open(own);
    expect(await store.sync()).toBe(0);
    await sql(
      engine.url,
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
    for (;;) {
      const revision = await store.sync().catch(() => null);
      if (revision !== null) break;
    }
    await store.close();
    expect((await own.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    expect(own.idleCount).toBe(own.totalCount);
  });

  test("calls are refused with BACKEND_UNAVAILABLE while the program uses all connections, and succeed afterwards", async () => {
    const own = poolOf(4);
    const store = await open(own);
    await store.close();
    const taken = await Promise.all(Array.from({ length: 4 }, () => own.connect()));
    const refused = PostgresStore.open({ pool: own, schema: "taken" });
    await expect(refused).rejects.toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    await expect(refused).rejects.toThrow("are all of them in use?");
    for (const client of taken) client.release();
    const later = await open(own, "taken");
    expect(await later.sync()).toBe(0);
  });

  test("a pool with too few connections is refused, and the error names the number needed", async () => {
    await expect(PostgresStore.open({ pool: poolOf(3) })).rejects.toThrow(
      "pool has max 3 and must have at least 4",
    );
    await expect(PostgresStore.open({ pool: poolOf(6), poolSize: 4 })).rejects.toThrow("at least 7");
  });

  test("a pool whose user is refused by the server rejects with INVALID_REQUEST", async () => {
    const wrong = new Pool({ connectionString: `${engine.url}_missing` });
    pools.push(wrong);
    await expect(PostgresStore.open({ pool: wrong })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      field: "pool",
    });
  });
});

test.each<[string, object]>([
  ["pool", { pool: {} }],
  ["pool", { pool: { connect: () => {} } }],
  ["pool", { pool: null }],
  ["servers", {}],
])("the option %s is refused without a usable pool: %j", async (field, options) => {
  await expect(PostgresStore.open(options)).rejects.toMatchObject({ code: "INVALID_REQUEST", field });
});

test.each(["servers", "user", "password", "database", "settings"])(
  "the option %s together with a pool is refused",
  async (name) => {
    const pool = { connect: () => Promise.reject(new Error("used")), totalCount: 0, options: { max: 10 } };
    const given = { servers: [{ host: "a", port: 1 }], settings: {} }[name] ?? "x";
    await expect(PostgresStore.open({ pool, [name]: given })).rejects.toThrow(
      "must not be given together with `pool`; remove it",
    );
  },
);
