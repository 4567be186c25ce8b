import { randomUUID } from "node:crypto";
import { BackendUnavailableError, type CasOp, type CasOutcome, type Store } from "@tenure/core";
import { boundMs, FaultProxy, isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { connect, contents, eventually, Follower, only, sql, swap, Writers } from "./postgres.test-kit.js";
import { namesOf } from "./schema.js";

/** Longer than any call may take when the server is silent, on a busy machine. */
const BOUND_MS = 15_000;

describe.skipIf(isMissing("postgres"))("PostgresStore through failures", () => {
  let engine: PostgresEngine;
  beforeAll(async () => {
    // With the server's defaults, acknowledged writes are not on disk for seconds: the store has to change that.
    engine = await startPostgres({ settings: { synchronous_commit: "off", wal_writer_delay: "10s" } });
  });
  afterAll(() => engine?.stop());

  let schema = "";
  const opened: (Store | FaultProxy)[] = [];
  const open = async (url = engine.url): Promise<Store> => {
    const store = await openStore(`${url}?schema=${schema}`);
    opened.push(store);
    return store;
  };
  const openProxy = async (): Promise<FaultProxy> => {
    const proxy = await FaultProxy.open({ host: "127.0.0.1", port: engine.ports[0] as number });
    opened.push(proxy);
    return proxy;
  };
  beforeEach(() => {
    schema = `test-${randomUUID()}`;
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });

  test("a PostgreSQL server killed and restarted has every acknowledged write, and revisions and feeds continue", async () => {
    const stores = [await open(), await open()];
    const [store] = stores as [Store, Store];
    const follower = new Follower(store);
    const writers = new Writers(stores, ["r/a", "r/b"], 2);
    for (let round = 0; round < 3; round++) {
      await writers.acknowledge(30);
      await engine.nodes[0]?.kill();
      await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
      await expect(store.compareAndSet([op("r/never")])).rejects.toThrow(BackendUnavailableError);
      await engine.nodes[0]?.start();
    }
    await writers.acknowledge(30);
    await writers.stop();
    const last = await contents(store);
    writers.ledger.check(last);
    expect(last.has("r/never")).toBe(false);
    await follower.reach(await store.sync());
    expect(follower.entries).toEqual(last);
    expect(follower.failures.length).toBeGreaterThan(0);
    for (const failure of follower.failures) expect(failure).toBeInstanceOf(BackendUnavailableError);
    await follower.stop();
  });

  test("while a PostgreSQL server hangs calls and feeds end in time, and afterwards everything works", async () => {
    const store = await open();
    const follower = new Follower(store);
    const first = await swap(store, "r/a", null, "1");
    await follower.reach(first);
    await engine.nodes[0]?.pause();
    const begun = performance.now();
    try {
      const write = only(store.compareAndSet([{ key: "r/a", expected: first, value: "2" }]));
      const aborted = only(
        store.compareAndSet([op("r/b")], { signal: AbortSignal.timeout(100) }).catch(unsent),
      );
      await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
      expect((await write).kind).toBe("uncertain");
      expect((await aborted).kind).toBe("uncertain");
      await eventually("the end of the feed", () => follower.failures.length > 0);
      expect(performance.now() - begun).toBeLessThan(boundMs(BOUND_MS));
    } finally {
      engine.nodes[0]?.resume();
    }
    await eventually("an answer", () => store.sync());
    // Only a read shows the outcome; the store continues from either.
    const found = (await contents(store)).get("r/a");
    expect(["1", "2"]).toContain(found?.value);
    await eventually("a write", async () => {
      const outcome = await only(
        store.compareAndSet([{ key: "r/a", expected: found?.revision ?? 0, value: "3" }]),
      );
      return outcome.kind === "swapped" || outcome.kind === "conflict";
    });
    await follower.reach(await store.sync());
    expect(follower.entries).toEqual(await contents(store));
    await follower.stop();
  });

  test("a write whose answer is lost is uncertain, and a read shows it", async () => {
    const proxy = await openProxy();
    const store = await open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
    let present = await swap(store, "r/a", null, "0");
    for (let round = 1; round <= 5; round++) {
      // To have a connection on which the answer can be lost.
      present = await swap(store, "r/a", present, "before");
      proxy.loseAnswers();
      const sent = only(store.compareAndSet([{ key: "r/a", expected: present, value: `${round}` }]));
      const written = await eventually("the write", async () => {
        const [row] = await sql(engine.url, `SELECT value, revision FROM "${schema}".entry`);
        return row?.["value"] === `${round}` && Number(row["revision"]);
      });
      proxy.cut();
      expect((await sent).kind).toBe("uncertain");
      proxy.mend();
      expect(await eventually("an answer", () => store.sync())).toBe(written);
      expect((await contents(store)).get("r/a")).toEqual({
        key: "r/a",
        value: `${round}`,
        revision: written,
      });
      present = Number(written);
    }
  });

  test("connections cut at any moment: no completed write is refused, and no acknowledged write is lost", async () => {
    const proxy = await openProxy();
    const stores = [await open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`), await open()];
    const writers = new Writers(stores, ["r/a", "r/b"], 2);
    for (let round = 0; round < 10; round++) {
      await writers.acknowledge(20 + round);
      if (round % 2 === 0) proxy.loseAnswers();
      proxy.cut();
      await writers.acknowledge(10);
      proxy.mend();
    }
    await writers.stop();
    writers.ledger.check(await contents(stores[1] as Store));
  });

  test("sessions that the server ends are replaced", async () => {
    const store = await open();
    await swap(store, "r/a", null, "0");
    const follower = new Follower(store);
    for (let round = 1; round <= 3; round++) {
      await follower.reach(await store.sync());
      await sql(
        engine.url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenure'",
      );
      await eventually("a write", async () => {
        const present = (await contents(store)).get("r/a")?.revision ?? null;
        return swap(store, "r/a", present, `${round}`);
      });
    }
    await follower.reach(await store.sync());
    expect(follower.entries.get("r/a")?.value).toBe("3");
    await follower.stop();
  });

  test("a lock of another session makes a write fail in time, and reads continue", async () => {
    const store = await open();
    const first = await swap(store, "r/a", null, "1");
    const rogue = await connect(engine.url);
    await rogue.query(`SELECT pg_advisory_lock(${namesOf(schema).lock})`);
    const begun = performance.now();
    await expect(store.compareAndSet([op("r/b")])).rejects.toThrow(BackendUnavailableError);
    expect(performance.now() - begun).toBeLessThan(boundMs(BOUND_MS));
    expect(await store.sync()).toBe(first);
    await rogue.end();
    await eventually("a write", () => swap(store, "r/b", null, "1"));
  });

  test("a client that stalls in the middle of its call does not block others", async () => {
    const store = await open();
    const first = await swap(store, "r/a", null, "1");
    const stalled = await connect(engine.url);
    const text = `CALL "${schema}".compare_and_set('{r/a}', '{${first}}', '{2}', 0, NULL, NULL)`;
    // All messages of a call except the last: without it the transaction does not end.
    stalled.connection.parse({ text, name: "", types: [] }, true);
    stalled.connection.bind({}, true);
    stalled.connection.execute({}, true);
    stalled.connection.flush();
    const second = await eventually("the stalled write", async () => {
      return (await contents(store)).get("r/a")?.revision !== first && (await store.sync());
    });
    await swap(store, "r/a", Number(second), "3");
    await stalled.end();
  });

  test("a client that does not read its answer does not block others", async () => {
    const store = await open();
    // More than the sockets between them can buffer.
    const keys = Array.from({ length: 200 }, (_, i) => `r/${i}`);
    await store.compareAndSet(keys.map((key) => ({ key, expected: null, value: "x".repeat(100_000) })));
    const stalled = await connect(engine.url);
    stalled.connection.stream.pause();
    const text = `CALL "${schema}".compare_and_set($1, $2, $3, 0, NULL, NULL)`;
    const batch = ["r/new", ...keys];
    const answer = stalled.query(text, [batch, batch.map(() => null), batch.map(() => "y")]);
    const revision = await eventually("its write", async () => {
      const [row] = await sql(engine.url, `SELECT revision FROM "${schema}".entry WHERE key = 'r/new'`);
      return row !== undefined && Number(row["revision"]);
    });
    await swap(store, "r/new", Number(revision), "z");
    stalled.connection.stream.resume();
    expect((await answer).rows).toHaveLength(1);
    await stalled.end();
  });
});

function op(key: string): CasOp {
  return { key, expected: null, value: "1" };
}

/** Aborted before a connection was free, so it was never sent. */
function unsent(): CasOutcome[] {
  return [{ kind: "uncertain", cause: "not sent" }];
}
