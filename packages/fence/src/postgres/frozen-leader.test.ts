import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fenced, type FencedOptions } from "./fenced.js";
import { type LeaderMode, LeaderProcess } from "./leader-process.test-kit.js";
import { POSTGRES_FENCE_SQL } from "./schema.js";
import type { SqlClient } from "./sql-client.js";

describe.skipIf(isMissing("postgres"))("fenced transactions of a leader that stops", () => {
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

  const NEWER = { groupId: "g", term: 2, lockTimeoutMs: 60_000 };
  /** Far longer than a test takes. PostgreSQL ends the leader after it, so that a successor that waits without a limit gets in. */
  const PATIENT = { groupId: "g", term: 1, idleTimeoutMs: 45_000 };
  const insert = (id: number) => (c: SqlClient) => c.query("INSERT INTO job VALUES ($1)", [id]);
  const jobs = async (): Promise<unknown[]> =>
    (await client.query<{ id: number }>("SELECT id FROM job ORDER BY id")).rows.map(({ id }) => id);
  const connect = async (): Promise<Client> => {
    const other = new Client(engine.url);
    await other.connect();
    undo.push(() => other.end());
    return other;
  };
  const start = async (options: FencedOptions, mode: LeaderMode = "pausing"): Promise<LeaderProcess> => {
    const leader = new LeaderProcess(engine.url, options, mode);
    undo.push(() => leader.end());
    expect(await leader.says()).toEqual({ wrote: true });
    return leader;
  };
  const until = async (condition: string, isOver: () => boolean = () => false): Promise<void> => {
    while (!isOver()) {
      const { rows } = await client.query<{ holds: boolean }>(`SELECT ${condition} AS holds`);
      if (rows[0]?.holds === true) return;
    }
  };

  test("the successor of a leader that is frozen inside its transaction writes, and the frozen leader's commit fails afterwards", async () => {
    const old = await start({ groupId: "g", term: 1, idleTimeoutMs: 300 });
    old.freeze();
    await fenced(client, NEWER, insert(2));
    expect(await jobs()).toEqual([2]);
    old.thaw();
    expect(await old.says()).toMatchObject({ committed: false, code: "25P03" });
    expect(await jobs()).toEqual([2]);
  });

  test("the successor of a leader that is frozen while it reads a large answer writes too", async () => {
    const old = await start({ groupId: "g", term: 1, idleTimeoutMs: 300 }, "reading");
    old.freeze();
    await fenced(client, NEWER, insert(2));
    old.thaw();
    expect(await old.says()).toMatchObject({ committed: false });
    expect(await jobs()).toEqual([2]);
  });

  test("a leader that is idle in its transaction for less than idleTimeoutMs commits", async () => {
    const old = await start({ groupId: "g", term: 1, idleTimeoutMs: 3_600_000 });
    old.thaw();
    expect(await old.says()).toEqual({ committed: true });
    expect(await jobs()).toEqual([1]);
  });

  test("a successor that has waited for lockTimeoutMs is refused with FENCE_UNAVAILABLE, and can try again", async () => {
    const old = await start(PATIENT);
    for (const signal of [undefined, new AbortController().signal]) {
      const impatient = fenced(client, { ...NEWER, lockTimeoutMs: 200, signal }, insert(2));
      await expect(impatient).rejects.toMatchObject({
        code: "FENCE_UNAVAILABLE",
        message: expect.stringMatching(/lockTimeoutMs \(200 ms\)/) as unknown,
        cause: { code: "55P03" },
      });
    }
    await old.end();
    await fenced(client, NEWER, insert(2));
    expect(await jobs()).toEqual([2]);
  });

  test("a signal ends the wait for the fence, and the connection can be used again", async () => {
    const old = await start(PATIENT);
    for (const isolation of ["read committed", "repeatable read", "serializable"] as const) {
      const next = await connect();
      const control = new AbortController();
      const waiting = fenced(next, { ...NEWER, isolation, signal: control.signal }, insert(2));
      let hasEnded = false;
      const end = () => (hasEnded = true);
      waiting.then(end, end);
      await until("EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')", () => hasEnded);
      control.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
      expect((await next.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    }
    old.thaw();
    expect(await old.says()).toEqual({ committed: true });
    expect(await jobs()).toEqual([1]);
  });

  test("a wait with a signal continues over several attempts, and ends behind the fence", async () => {
    const old = await start(PATIENT);
    const next = await connect();
    const texts: string[] = [];
    const watched: SqlClient = {
      query: (text, values) => {
        texts.push(text);
        if (texts.filter((each) => each === "ROLLBACK").length === 2) old.thaw();
        return next.query(text, values);
      },
    };
    await fenced(watched, { ...NEWER, signal: new AbortController().signal }, insert(2));
    expect(texts.filter((each) => each === "BEGIN").length).toBeGreaterThan(2);
    expect(await jobs()).toEqual([1, 2]);
  });

  test("both timeouts apply inside the transaction, and the session has its own again afterwards", async () => {
    const own = await connect();
    await own.query("SET lock_timeout = '7s'");
    const limits = async () => {
      const text =
        "SELECT current_setting('lock_timeout') AS lock, current_setting('idle_in_transaction_session_timeout') AS idle";
      return (await own.query<{ lock: string; idle: string }>(text)).rows;
    };
    expect(await fenced(own, { groupId: "g", term: 1 }, limits)).toEqual([{ lock: "10s", idle: "5s" }]);
    const given = { groupId: "g", term: 1, idleTimeoutMs: 2000, signal: new AbortController().signal };
    expect(await fenced(own, given, limits)).toEqual([{ lock: "4s", idle: "2s" }]);
    expect(await limits()).toEqual([{ lock: "7s", idle: "0" }]);
  });

  test("a client without a listener for errors does not end the process when its session is ended", async () => {
    const quiet = await connect();
    const { rows } = await quiet.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    let limit: unknown;
    const ended = fenced(quiet, { groupId: "g", term: 1, idleTimeoutMs: 50 }, async (c) => {
      const text = "SELECT current_setting('idle_in_transaction_session_timeout') AS idle";
      limit = (await c.query<{ idle: string }>(text)).rows[0]?.idle;
      // Without the limit the session is never ended.
      if (limit !== "50ms") return;
      await until(`NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ${rows[0]?.pid})`);
      await insert(3)(c);
    });
    await expect(ended).rejects.toThrow();
    expect(limit).toBe("50ms");
    expect(await jobs()).toEqual([]);
  });

  test.each(["idleTimeoutMs", "lockTimeoutMs"])(
    "%s out of its bounds is refused before anything is sent",
    async (name) => {
      const silent: SqlClient = { query: () => Promise.reject(new Error("sent")) };
      for (const value of [0, -1, 1.5, 3_600_001, "1000"]) {
        const options = { groupId: "g", term: 1, [name]: value } as FencedOptions;
        await expect(fenced(silent, options, async () => {})).rejects.toThrow(
          `${name} must be a whole number from 1 to 3600000`,
        );
      }
    },
  );
});
