import { BackendUnavailableError, type Store } from "@tenure/core";
import {
  boundMs,
  isMissing,
  type PostgresEngine,
  type PostgresProcess,
  startPostgres,
} from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { contents, eventually, Follower, only, sql, swap, Writers } from "./postgres.test-kit.js";

/** Longer than any call may take when no server is available, on a busy machine. */
const BOUND_MS = 15_000;

const WAITING_WRITER = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'CALL%'`;

function urlOf(engine: PostgresEngine, node: number): string {
  return `postgres://postgres@127.0.0.1:${engine.ports[node]}/postgres`;
}

function nodeOf(engine: PostgresEngine, node: number): PostgresProcess {
  return engine.nodes[node] as PostgresProcess;
}

describe.skipIf(isMissing("postgres"))("PostgresStore on a primary with a synchronous standby", () => {
  let engine: PostgresEngine;
  beforeAll(async () => {
    engine = await startPostgres({ standbys: 1 });
    // On the primary only: a promoted standby has no standby to wait for.
    await sql(urlOf(engine, 0), "ALTER SYSTEM SET synchronous_standby_names = 'standby1'");
    await sql(urlOf(engine, 0), "SELECT pg_reload_conf()");
    await eventually("a synchronous standby", async () => {
      const [row] = await sql(urlOf(engine, 0), "SELECT sync_state FROM pg_stat_replication");
      return row?.["sync_state"] === "sync";
    });
  });
  afterAll(() => engine?.stop());

  test("a PostgreSQL standby is never used", async () => {
    const begun = performance.now();
    const error: unknown = await openStore(urlOf(engine, 1)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BackendUnavailableError);
    expect((error as Error).message).toMatch(/the server is read-only/);
    expect(performance.now() - begun).toBeLessThan(boundMs(BOUND_MS));
    // In whichever order they are named.
    const store = await openStore(
      `postgres://postgres@127.0.0.1:${engine.ports[1]},127.0.0.1:${engine.ports[0]}/postgres`,
    );
    await swap(store, "r/a", null, "1");
    await store.close();
  });

  test("a write that the standby does not have yet is not acknowledged, and reads continue meanwhile", async () => {
    const store = await openStore(engine.url);
    const first = await swap(store, "r/b", null, "1");
    await nodeOf(engine, 1).pause();
    try {
      const signal = AbortSignal.timeout(500);
      const outcome = await only(
        store.compareAndSet([{ key: "r/b", expected: first, value: "2" }], { signal }),
      );
      expect(outcome).toEqual({ kind: "uncertain", cause: signal.reason as Error });
      expect(await store.sync()).toBe(first);
      await expect(store.compareAndSet([{ key: "r/c", expected: null, value: "1" }])).rejects.toThrow(
        BackendUnavailableError,
      );
    } finally {
      nodeOf(engine, 1).resume();
    }
    const { revision } = (await eventually("the write", async () => {
      const entry = (await contents(store)).get("r/b");
      return entry?.value === "2" ? entry : undefined;
    })) as { revision: number };
    await swap(store, "r/b", revision, "3");
    await store.close();
  });

  test("a commit whose wait for the standby was cancelled is uncertain", async () => {
    const store = await openStore(engine.url);
    await nodeOf(engine, 1).pause();
    try {
      const sent = only(store.compareAndSet([{ key: "r/d", expected: null, value: "1" }]));
      const [row] = (await eventually("the wait for the standby", async () => {
        const rows = await sql(urlOf(engine, 0), WAITING_WRITER);
        return rows.length > 0 && rows;
      })) as { pid: number }[];
      await sql(urlOf(engine, 0), "SELECT pg_cancel_backend($1)", [row?.pid]);
      expect(await sent).toMatchObject({ kind: "uncertain", cause: { code: "01000" } });
    } finally {
      nodeOf(engine, 1).resume();
    }
    expect((await contents(store)).get("r/d")?.value).toBe("1");
    await store.close();
  });

  test("the primary is killed under load and the standby promoted: no acknowledged write is lost", async () => {
    const stores = [await openStore(engine.url), await openStore(engine.url)];
    const [store] = stores as [Store, Store];
    const follower = new Follower(store);
    const writers = new Writers(stores, ["r/x", "r/y", "r/z"], 2);
    await writers.acknowledge(100);
    await nodeOf(engine, 0).kill();
    const begun = performance.now();
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    await expect(store.compareAndSet([{ key: "r/never", expected: null, value: "1" }])).rejects.toThrow(
      BackendUnavailableError,
    );
    expect(performance.now() - begun).toBeLessThan(boundMs(BOUND_MS));
    engine.promote(1);
    await writers.acknowledge(100);
    await writers.stop();
    const last = await contents(store);
    writers.ledger.check(last);
    expect(last.has("r/never")).toBe(false);
    await follower.reach(await store.sync());
    expect(follower.entries).toEqual(last);
    await follower.stop();
    for (const each of stores) await each.close();
  });
});

describe.skipIf(isMissing("postgres"))("PostgresStore on a primary with an asynchronous standby", () => {
  let engine: PostgresEngine;
  beforeAll(async () => {
    engine = await startPostgres({ standbys: 1 });
  });
  afterAll(() => engine?.stop());

  test("a process that saw writes lost in a failover refuses to write, and a new process starts with what is left", async () => {
    const store = await openStore(engine.url);
    const kept = await swap(store, "r/a", null, "kept");
    await eventually("the standby to have it", async () => {
      const [row] = await sql(urlOf(engine, 1), "SELECT revision FROM tenure.entry");
      return Number(row?.["revision"]) === kept;
    });
    await nodeOf(engine, 1).kill();
    await swap(store, "r/a", kept, "lost");
    await nodeOf(engine, 0).kill();
    await nodeOf(engine, 1).start();
    engine.promote(1);
    const told = /lacks writes that this process has seen/;
    await eventually("the refusal", () =>
      store.sync().then(
        () => false,
        (error: unknown) => told.test(String(error)),
      ),
    );
    await expect(store.compareAndSet([{ key: "r/a", expected: kept, value: "no" }])).rejects.toThrow(told);
    await store.close();
    const fresh = await openStore(engine.url);
    expect([...(await contents(fresh)).values()]).toEqual([{ key: "r/a", value: "kept", revision: kept }]);
    await swap(fresh, "r/a", kept, "next");
    await fresh.close();
  });
});
