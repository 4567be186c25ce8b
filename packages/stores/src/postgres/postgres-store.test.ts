import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { BackendUnavailableError, type CasOp, type Store } from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { boundMs, isMissing, type PostgresEngine, startPostgres, waitLimitMs } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { connect, contents, eventually, Follower, sql, swap, Writers } from "./postgres.test-kit.js";
import { namesOf } from "./schema.js";

describe.skipIf(isMissing("postgres"))("PostgresStore", () => {
  let engine: PostgresEngine;
  beforeAll(async () => {
    engine = await startPostgres();
  });
  afterAll(() => engine?.stop());

  storeConformance({
    test,
    open: (space) => openStore(`${engine.url}?schema=${space}`),
    dispose: async (space) => void (await sql(engine.url, `DROP SCHEMA "${space}" CASCADE`)),
  });

  let schema = "";
  const opened: Store[] = [];
  const open = async (parameters = ""): Promise<Store> => {
    const store = await openStore(`${engine.url}?schema=${schema}${parameters}`);
    opened.push(store);
    return store;
  };
  beforeEach(() => {
    schema = `test-${randomUUID()}`;
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  test("writers of several stores leave no gap between revisions, and a feed sees each in order", async () => {
    const stores = [await open(), await open(), await open()];
    const follower = new Follower(stores[0] as Store);
    const writers = new Writers(stores, ["r/a", "r/b", "r/c"], 3);
    await writers.acknowledge(250);
    await writers.stop();
    const last = await contents(stores[1] as Store);
    writers.ledger.check(last);
    expect([writers.refused, writers.ledger.uncertain.length]).toEqual([0, 0]);
    // Every revision was used by exactly one write.
    const revisions = writers.ledger.acknowledged.map(({ revision }) => revision).sort((x, y) => x - y);
    expect(revisions).toEqual(revisions.map((_, i) => i + 1));
    await follower.reach(revisions.length);
    expect(follower.entries).toEqual(last);
    await follower.stop();
  });

  test("feeds are notified of the last write, and of a burst of writes not one by one", async () => {
    const store = await open();
    const listener = await connect(engine.url);
    const told: number[] = [];
    listener.on("notification", ({ payload }) => told.push(Number(payload)));
    await listener.query(`LISTEN ${namesOf(schema).channel}`);
    const writes = 200;
    const startedMs = performance.now();
    let revision = 0;
    for (let i = 0; i < writes; i++) {
      const [outcome] = await store.compareAndSet([
        { key: "k", expected: revision === 0 ? null : revision, value: "v" },
      ]);
      if (outcome?.kind !== "swapped") throw new Error(`a write ended as ${outcome?.kind}`);
      ({ revision } = outcome);
    }
    await eventually("the last one is told", () => told.at(-1) === revision);
    const tookMs = performance.now() - startedMs;
    await listener.end();
    expect(told.length).toBeLessThanOrEqual(Math.min(writes - 1, tookMs / 5 + 2));
    expect(told).toEqual(told.toSorted((x, y) => x - y));
  });

  test("every allowed key is read back", async () => {
    const keys = [
      "\u0001",
      "\u{10FFFF}".repeat(256),
      "漢".repeat(512),
      "{}",
      "NULL",
      '"',
      "\\",
      "a,b",
      " a ",
    ];
    for (let code = 1; code < 300; code++)
      keys.push(String.fromCodePoint(code), `r/${String.fromCodePoint(code)}/x`);
    const batch = [...new Set(keys)].map((key) => ({ key, expected: null, value: `of ${key}` }));
    const store = await open();
    for (let i = 0; i < batch.length; i += store.limits.batchOps) {
      const outcomes = await store.compareAndSet(batch.slice(i, i + store.limits.batchOps));
      expect(outcomes.filter(({ kind }) => kind !== "swapped")).toEqual([]);
    }
    const found = [...(await contents(store)).values()].map(({ key, value }) => [key, value] as const);
    expect(new Map(found)).toEqual(new Map(batch.map(({ key, value }) => [key, value] as const)));
  });

  test("a feed is notified of another store's write without waiting for its next poll", async () => {
    const [near, far] = [await open("&poll_ms=10000"), await open()];
    const follower = new Follower(near);
    await follower.reach(await swap(far, "r/a", null, "1"));
    const begun = performance.now();
    await follower.reach(await swap(far, "r/b", null, "1"));
    expect(performance.now() - begun).toBeLessThan(boundMs(5000));
    await follower.stop();
  });

  test("a write without a notification is seen at the next poll", async () => {
    const store = await open();
    const follower = new Follower(store);
    const first = await swap(store, "r/a", null, "1");
    await follower.reach(first);
    const call = `CALL "${schema}".compare_and_set('{r/b}', '{NULL}', '{1}', 0, NULL, NULL)`;
    await sql(engine.url, call);
    await follower.reach(first + 1);
    expect(follower.entries.get("r/b")).toEqual({ key: "r/b", value: "1", revision: first + 1 });
    await follower.stop();
  });

  test("a feed far behind, from before the kept changes, misses none", async () => {
    const store = await open();
    await swap(store, "r/a", null, "1");
    const feed = store.feed()[Symbol.asyncIterator]();
    expect((await feed.next()).value).toMatchObject({ kind: "snapshot", revision: 1 });
    const b = await swap(store, "r/b", null, "1");
    // As if a thousand batches had renewed r/a.
    await sql(
      engine.url,
      `INSERT INTO "${schema}".change SELECT r, '{1}' FROM generate_series(3, 1023) AS r`,
    );
    await sql(engine.url, `UPDATE "${schema}".entry SET revision = 1023 WHERE key = 'r/a'`);
    const a = await swap(store, "r/a", 1023, "2");
    expect(a).toBe(1024);
    const kept = await sql(engine.url, `SELECT min(revision), max(revision) FROM "${schema}".change`);
    expect(kept).toEqual([{ min: "513", max: "1024" }]);
    expect((await feed.next()).value).toEqual({
      kind: "changes",
      revision: a,
      entries: [
        { key: "r/b", value: "1", revision: b },
        { key: "r/a", value: "2", revision: a },
      ],
    });
    await feed.return?.();
  });

  test("renewals change no index and leave no dead rows behind", async () => {
    const store = await open();
    const keys = Array.from({ length: 500 }, (_, i) => `r/${i}`);
    let expected: (number | null)[] = keys.map(() => null);
    for (let round = 0; round < 20; round++) {
      const batch = keys.map((key, i): CasOp => ({
        key,
        expected: expected[i] as number | null,
        value: `${round}`.padEnd(150),
      }));
      expected = (await store.compareAndSet(batch)).map((outcome) =>
        outcome.kind === "swapped" ? outcome.revision : null,
      );
    }
    await store.close();
    const [size] = await sql(engine.url, `SELECT pg_relation_size('"${schema}".entry') / 8192 AS pages`);
    // 500 rows of some 210 bytes, twice: the first version and one more.
    expect(Number(size?.["pages"])).toBeLessThan(40);
  });

  test("a server that lacks a revision seen by this process is refused, and nothing is written there", async () => {
    const store = await open();
    const first = await swap(store, "r/a", null, "1");
    const second = await swap(store, "r/a", first, "2");
    // Like a failover to a standby that was behind.
    await sql(engine.url, `DELETE FROM "${schema}".change WHERE revision = ${second}`);
    await sql(engine.url, `UPDATE "${schema}".entry SET value = '1', revision = ${first}`);
    const told = /lacks writes that this process has seen/;
    await expect(store.sync()).rejects.toThrow(told);
    await expect(store.compareAndSet([{ key: "r/a", expected: first, value: "3" }])).rejects.toThrow(told);
    await expect(contents(store)).rejects.toThrow(BackendUnavailableError);
    const other = await open();
    expect([...(await contents(other)).values()]).toEqual([{ key: "r/a", value: "1", revision: first }]);
    // Once the others have reached that revision again, the difference cannot be detected.
    await swap(other, "r/a", first, "4");
    expect(await store.sync()).toBe(second);
  });

  test("a process that has closed its PostgreSQL store ends by itself", async () => {
    const entry = new URL("../../dist/index.js", import.meta.url).href;
    const script = `
      const { openStore } = await import(${JSON.stringify(entry)});
      const store = await openStore(${JSON.stringify(`${engine.url}?schema=${schema}`)});
      const feed = store.feed()[Symbol.asyncIterator]();
      await feed.next();
      const waiting = feed.next().catch(() => {});
      await Promise.all([store.sync(), store.compareAndSet([{ key: "r/a", expected: null, value: "1" }])]);
      await store.close();
      await waiting;
      process.stdout.write(String(process.getActiveResourcesInfo().filter((each) => each !== "PipeWrap")));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: waitLimitMs(20_000),
    });
    expect(output).toBe("");
  });
});
