import { FaultProxy, isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { Client, Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fenced } from "./fenced.js";
import { POSTGRES_FENCE_SQL } from "./schema.js";
import type { SqlClient } from "./sql-client.js";
import { asStaleTermError } from "./sql-errors.js";

describe.skipIf(isMissing("postgres"))("fenced", () => {
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
  const undo: (() => unknown)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });

  const CLAIM = { groupId: "g", term: 3 };
  const insert = (id: number) => (c: SqlClient) => c.query("INSERT INTO job VALUES ($1)", [id]);
  const jobs = async (): Promise<unknown[]> =>
    (await client.query<{ id: number }>("SELECT id FROM job ORDER BY id")).rows;

  test("fenced commits the work, and returns its result", async () => {
    expect(await fenced(client, CLAIM, async (c) => (await insert(1)(c)).rows)).toEqual([]);
    expect(await jobs()).toEqual([{ id: 1 }]);
  });

  test("fenced rolls back when the work fails, and the connection can be used again", async () => {
    const failure = new Error("no");
    const failing = fenced(client, CLAIM, async (c) => {
      await insert(1)(c);
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(await jobs()).toEqual([]);
    await fenced(client, CLAIM, insert(2));
    expect(await jobs()).toEqual([{ id: 2 }]);
  });

  test("fenced does not run the work in a stale term", async () => {
    await fenced(client, CLAIM, insert(1));
    let hasBegun = false;
    const stale = fenced(client, { groupId: "g", term: 2 }, async () => {
      hasBegun = true;
    });
    await expect(stale).rejects.toMatchObject({ code: "STALE_TERM", term: 2, highestTerm: 3 });
    expect(hasBegun).toBe(false);
    await fenced(client, CLAIM, insert(2));
  });

  test("fenced does not report success when the server has rolled back silently", async () => {
    await fenced(client, CLAIM, insert(1));
    const careless = fenced(client, CLAIM, async (c) => {
      await insert(1)(c).catch(() => undefined);
      return "done";
    });
    await expect(careless).rejects.toThrow("a statement in it had failed");
  });

  test("fenced rejects as stale if the work itself meets the fence of another group", async () => {
    await fenced(client, { groupId: "h", term: 9 }, async () => {});
    const both = fenced(client, CLAIM, (c) => c.query("SELECT tenure_fence('h', 8)"));
    await expect(both).rejects.toMatchObject({ code: "STALE_TERM", groupId: "h", term: 8, highestTerm: 9 });
  });

  test("fenced rejects with the server's error when the commit was refused, and nothing is stored", async () => {
    await client.query("CREATE TABLE late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    const refused = fenced(client, CLAIM, (c) => c.query("INSERT INTO late VALUES (1), (1)"));
    await expect(refused).rejects.toMatchObject({ code: "23505" });
    expect((await client.query("SELECT FROM late")).rowCount).toBe(0);
  });

  test("fenced reports an unknown outcome when the answer to the commit was lost", async () => {
    const proxy = await FaultProxy.open({ host: "127.0.0.1", port: engine.ports[0] as number });
    undo.push(() => proxy.close());
    const far = new Client(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
    far.on("error", () => undefined);
    await far.connect();
    undo.push(() => far.end().catch(() => undefined));
    const losing: SqlClient = {
      query: (text, values) => {
        if (text === "COMMIT") proxy.loseAnswers();
        return far.query(text, values);
      },
    };
    const uncertain = fenced(losing, CLAIM, insert(5));
    // It was committed, and the leader cannot know.
    while ((await jobs()).length === 0);
    proxy.cut();
    await expect(uncertain).rejects.toMatchObject({
      code: "COMMIT_UNCERTAIN",
      cause: expect.any(Error) as unknown,
    });
  });

  test("fenced rejects with the server's error when its session was ended before COMMIT was sent", async () => {
    const far = new Client(engine.url);
    far.on("error", () => undefined);
    await far.connect();
    undo.push(() => far.end().catch(() => undefined));
    const ended = fenced(far, CLAIM, async (c) => {
      await insert(6)(c);
      const { rows } = await c.query("SELECT pg_backend_pid() AS pid");
      await client.query("SELECT pg_terminate_backend($1, 10000)", [(rows[0] as { pid: number }).pid]);
    });
    await expect(ended).rejects.toMatchObject({ code: "57P01" });
    expect(await jobs()).toEqual([]);
  });

  test("fenced runs on one connection of a pool, never on the pool", async () => {
    const pool = new Pool({ connectionString: engine.url });
    undo.push(() => pool.end());
    await expect(fenced(pool, CLAIM, insert(1))).rejects.toThrow("await pool.connect()");
    const one = await pool.connect();
    try {
      await fenced(one, CLAIM, insert(1));
    } finally {
      one.release();
    }
    expect(await jobs()).toEqual([{ id: 1 }]);
  });

  test("fenced refuses a connection that is already in a fenced transaction", async () => {
    const nested = fenced(client, CLAIM, async (c) => {
      await insert(1)(c);
      await fenced(c, { groupId: "h", term: 1 }, insert(2));
    });
    await expect(nested).rejects.toThrow("is in a fenced transaction already");
    expect(await jobs()).toEqual([]);
    const [first, second] = await Promise.allSettled([3, 4].map((id) => fenced(client, CLAIM, insert(id))));
    expect([first?.status, second?.status]).toEqual(["fulfilled", "rejected"]);
    expect(await jobs()).toEqual([{ id: 3 }]);
  });

  test("fenced uses the isolation level of the session by default, or the given one", async () => {
    const level = async (c: SqlClient) => (await c.query("SHOW transaction_isolation")).rows[0];
    expect(await fenced(client, CLAIM, level)).toEqual({ transaction_isolation: "read committed" });
    const given = { ...CLAIM, isolation: "serializable" } as const;
    expect(await fenced(client, given, level)).toEqual({ transaction_isolation: "serializable" });
  });

  test("fenced refuses invalid arguments before anything is sent", async () => {
    const silent: SqlClient = { query: () => Promise.reject(new Error("sent")) };
    const work = async (): Promise<void> => {};
    await expect(fenced(silent, { groupId: "", term: 1 }, work)).rejects.toThrow("groupId must be");
    await expect(fenced(silent, { groupId: "g", term: 0 }, work)).rejects.toThrow("term must be");
    const snapshot = { ...CLAIM, isolation: "snapshot" } as never;
    await expect(fenced(silent, snapshot, work)).rejects.toThrow("isolation must be one of");
    await expect(fenced(silent, { ...CLAIM, ttl: 1 } as never, work)).rejects.toThrow("ttl is not known");
    await expect(fenced({} as SqlClient, CLAIM, work)).rejects.toThrow("client must have query");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(fenced(silent, { ...CLAIM, signal }, work)).rejects.toThrow("enough");
  });
});

test("an error of the fence is recognized by its SQLSTATE, whatever the client has made of it", () => {
  const bare = Object.assign(new Error("x"), { code: "TN409" });
  expect(asStaleTermError(bare, { groupId: "g", term: 2 })).toMatchObject({
    code: "STALE_TERM",
    groupId: "g",
    term: 2,
    highestTerm: null,
    cause: bare,
  });
  const cut = Object.assign(new Error("x"), { code: "TN409", detail: '{"group_id' });
  expect(asStaleTermError(cut, { groupId: "g", term: 2 })).toMatchObject({ highestTerm: null });
  for (const other of [new Error("STALE_TERM"), null, undefined, "TN409", { code: 409 }]) {
    expect(asStaleTermError(other)).toBe(other);
  }
});
