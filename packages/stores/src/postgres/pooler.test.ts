import { storeConformance } from "@tenure/core/conformance";
import { type Engine, isMissing, type PostgresEngine, startPgBouncer, startPostgres } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { loadPg, Servers } from "./connection.js";
import { checkOptions, parsePostgresUrl } from "./options.js";
import { contents, Follower, sql, swap, Writers } from "./postgres.test-kit.js";

describe.skipIf(isMissing("postgres"))("PostgresStore behind a pooler in transaction mode", () => {
  let postgres: PostgresEngine;
  let pooler: Engine;
  beforeAll(async () => {
    postgres = await startPostgres();
    pooler = await startPgBouncer({ postgres });
  });
  afterAll(async () => {
    await pooler?.stop();
    await postgres?.stop();
  });

  storeConformance({
    test,
    open: (space) => openStore(`${pooler.url}?schema=${space}`),
  });

  test("a pooler is distinguished from the server itself", async () => {
    const isDirect = async (url: string): Promise<boolean> => {
      const servers = new Servers(await loadPg(), checkOptions(parsePostgresUrl(url)));
      const connected = await servers.connect(new AbortController().signal);
      await connected.session.end();
      return connected.isDirect;
    };
    expect([await isDirect(postgres.url), await isDirect(pooler.url)]).toEqual([true, false]);
  });

  test("a store behind a pooler leaves no settings in the shared connections", async () => {
    const store = await openStore(`${pooler.url}?schema=shared`);
    const follower = new Follower(store);
    await follower.reach(await swap(store, "r/a", null, "1"));
    // One statement each, so that the next may run in another process of the server.
    const settings = ["lock_timeout", "enable_seqscan", "client_min_messages", "synchronous_commit"];
    for (let i = 0; i < 20; i++) {
      const shown = settings.map((name) => `current_setting('${name}') AS ${name}`).join(", ");
      expect(await sql(pooler.url, `SELECT ${shown}`)).toEqual([
        { lock_timeout: "0", enable_seqscan: "on", client_min_messages: "notice", synchronous_commit: "on" },
      ]);
    }
    expect(await sql(postgres.url, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'")).toEqual([]);
    expect(await sql(postgres.url, "SELECT query FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")).toEqual(
      [],
    );
    await follower.stop();
    await store.close();
  });

  test("the pooler is killed and restarted under load: no acknowledged write is lost, and feeds continue", async () => {
    const stores = [
      await openStore(`${pooler.url}?schema=killed`),
      await openStore(`${postgres.url}?schema=killed`),
    ];
    const follower = new Follower(stores[0] as (typeof stores)[0] & object);
    const writers = new Writers(stores, ["r/a", "r/b"], 2);
    for (let round = 0; round < 3; round++) {
      await writers.acknowledge(20);
      await pooler.nodes[0]?.kill();
      await writers.acknowledge(20);
      await pooler.nodes[0]?.start();
    }
    await writers.acknowledge(40);
    await writers.stop();
    const last = await contents(stores[0] as (typeof stores)[0] & object);
    writers.ledger.check(last);
    await follower.reach(Math.max(...[...last.values()].map(({ revision }) => revision)));
    expect(follower.entries).toEqual(last);
    await follower.stop();
    for (const store of stores) await store.close();
  });
});
