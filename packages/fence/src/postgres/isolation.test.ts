import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fenced, type FencedOptions } from "./fenced.js";
import { POSTGRES_FENCE_SQL } from "./schema.js";
import { isSerializationFailure } from "./sql-errors.js";

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

const LEVELS = ["read committed", "repeatable read", "serializable"] as const;

describe.skipIf(isMissing("postgres"))("transactions of two leaders", () => {
  let engine: PostgresEngine;
  let watcher: Client;
  beforeAll(async () => {
    engine = await startPostgres();
    watcher = new Client(engine.url);
    await watcher.connect();
    await watcher.query(POSTGRES_FENCE_SQL);
  });
  afterAll(async () => {
    await watcher?.end();
    await engine?.stop();
  });
  beforeEach(async () => {
    await watcher.query("DROP TABLE IF EXISTS work");
    await watcher.query("CREATE TABLE work (term bigint, who text)");
    await watcher.query("TRUNCATE tenure_fence_term");
  });

  const clients: Client[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });

  class Leader {
    readonly client: Client;
    readonly pid: number;
    readonly options: FencedOptions;

    constructor(client: Client, pid: number, options: FencedOptions) {
      this.client = client;
      this.pid = pid;
      this.options = options;
    }

    begin = () => this.client.query(`BEGIN ISOLATION LEVEL ${this.options.isolation}`);
    fence = () =>
      this.client
        .query("SELECT tenure_fence($1, $2)", [this.options.groupId, this.options.term])
        .then(() => "passed")
        .catch(codeOf);
    write = () => this.client.query("INSERT INTO work VALUES ($1, 'leader')", [this.options.term]);
    terms = async () => {
      const { rows } = await this.client.query<{ term: string }>("SELECT term FROM work ORDER BY term");
      return rows.map(({ term }) => Number(term));
    };
    commit = () => this.client.query("COMMIT");
    rollback = () => this.client.query("ROLLBACK");
    /**
     * The whole transaction, as users write it. Under serializable the work itself may be refused, and the user repeats
     * it.
     */
    run = async (): Promise<number[]> => {
      for (;;) {
        try {
          return await fenced(this.client, this.options, async () => {
            const seen = await this.terms();
            await this.write();
            return seen;
          });
        } catch (error) {
          const isToRepeat = this.options.isolation === "serializable" && isSerializationFailure(error);
          if (!isToRepeat) throw error;
        }
      }
    };

    /** Resolves once its query waits for another's lock. */
    async waits(): Promise<void> {
      const text = "SELECT cardinality(pg_blocking_pids($1)) AS blockers";
      for (;;) {
        const { rows } = await watcher.query<{ blockers: number }>(text, [this.pid]);
        if ((rows[0]?.blockers ?? 0) > 0) return;
      }
    }
  }

  const leader = async (term: number, isolation: FencedOptions["isolation"]): Promise<Leader> => {
    const client = new Client(engine.url);
    await client.connect();
    clients.push(client);
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return new Leader(client, rows[0]?.pid ?? 0, { groupId: "g", term, isolation });
  };

  describe.each(LEVELS)("under %s", (isolation) => {
    /** With a snapshot from before the newer term the fence can only report a serialization failure. */
    const staleWhileWaiting = isolation === "read committed" ? "TN409" : "40001";
    const open = async () => [await leader(1, isolation), await leader(2, isolation)] as const;

    test("the older leader is refused after the newer one, and nothing of it is stored", async () => {
      const [old, next] = await open();
      expect(await old.run()).toEqual([]);
      expect(await next.run()).toEqual([1]);
      await expect(old.run()).rejects.toMatchObject({
        code: "STALE_TERM",
        groupId: "g",
        term: 1,
        highestTerm: 2,
      });
      await old.begin();
      await old.write();
      expect(await old.fence()).toBe("TN409");
      await old.rollback();
      expect(await next.run()).toEqual([1, 2]);
    });

    test("the older leader that was first commits first, and the newer one waits and sees its work", async () => {
      for (const isKnown of [false, true]) {
        await watcher.query("TRUNCATE tenure_fence_term, work");
        const [old, next] = await open();
        if (isKnown) await fenced(old.client, old.options, async () => {});
        await old.begin();
        expect(await old.fence()).toBe("passed");
        await old.write();
        const running = next.run();
        await next.waits();
        await old.commit();
        expect(await running).toEqual([1]);
        await expect(old.run()).rejects.toMatchObject({ code: "STALE_TERM" });
      }
    });

    test("the older leader that comes while the newer one works waits, and is refused when that commits", async () => {
      for (const isKnown of [false, true]) {
        await watcher.query("TRUNCATE tenure_fence_term, work");
        const [old, next] = await open();
        if (isKnown) await fenced(old.client, old.options, async () => {});
        await next.begin();
        expect(await next.fence()).toBe("passed");
        await old.begin();
        const refused = old.fence();
        await old.waits();
        await next.commit();
        expect(await refused).toBe(staleWhileWaiting);
        await old.rollback();
        await expect(old.run()).rejects.toMatchObject({ code: "STALE_TERM", highestTerm: 2 });
      }
    });

    test("the older leader cannot keep the newer one out by new transactions on many connections", async () => {
      const old = await Promise.all(Array.from({ length: 4 }, () => leader(1, isolation)));
      const next = await leader(2, isolation);
      const pressure = old.map(async (each) => {
        for (;;) {
          try {
            await each.run();
          } catch (error) {
            return codeOf(error);
          }
        }
      });
      while ((await watcher.query("SELECT FROM work LIMIT 10")).rowCount !== 10);
      const seen = await next.run();
      expect(await Promise.all(pressure)).toEqual(old.map(() => "STALE_TERM"));
      expect(await next.run()).toEqual([...seen, 2]);
    });

    test("fenced reports STALE_TERM to the older leader, even after a wait", async () => {
      const [old, next] = await open();
      await next.begin();
      await next.fence();
      const refused = old.run().catch((error: unknown) => error);
      await old.waits();
      await next.commit();
      expect(await refused).toMatchObject({ code: "STALE_TERM", highestTerm: 2 });
    });

    test("the older leader continues if the newer one did not commit", async () => {
      const [old, next] = await open();
      await old.run();
      await next.begin();
      await next.fence();
      const running = old.run();
      await old.waits();
      await next.rollback();
      expect(await running).toEqual([1]);
    });

    test("the older leader is refused although its snapshot was taken before the newer one came", async () => {
      const [old, next] = await open();
      await old.run();
      await old.begin();
      expect(await old.terms()).toEqual([1]);
      await next.run();
      expect(await old.fence()).toBe(staleWhileWaiting);
      await old.rollback();
    });

    test("the newer leader with a snapshot from before the older one's work does not act on it", async () => {
      const [old, next] = await open();
      await old.run();
      await next.begin();
      expect(await next.terms()).toEqual([1]);
      await old.run();
      const passed = await next.fence();
      if (isolation === "read committed") {
        expect(passed).toBe("passed");
        expect(await next.terms()).toEqual([1, 1]);
        await next.write();
        await next.commit();
      } else {
        expect(passed).toBe("40001");
        await next.rollback();
      }
    });

    test("two new leaders of different terms end in the higher one, without a deadlock", async () => {
      const leaders = await Promise.all(Array.from({ length: 6 }, (_, i) => leader(1 + (i % 3), isolation)));
      for (let round = 0; round < 10; round++) {
        await watcher.query("TRUNCATE tenure_fence_term");
        const ends = await Promise.allSettled(
          leaders.map((each) => fenced(each.client, each.options, async () => {})),
        );
        for (const [i, end] of ends.entries()) {
          if (end.status === "fulfilled") continue;
          expect(end.reason).toMatchObject({ code: "STALE_TERM", term: 1 + (i % 3) });
          expect(i % 3).toBeLessThan(2);
        }
        const { rows } = await watcher.query<{ term: string }>("SELECT term FROM tenure_fence_term");
        expect(rows).toEqual([{ term: "3" }]);
      }
    });

    test("each of many concurrent transactions that passes the fence sees all work of older terms, and none of newer ones", async () => {
      const final: { term: number; older: number }[] = [];
      const newest = { term: 1 };
      await Promise.all(
        Array.from({ length: 6 }, async (_, i) => {
          const { client } = await leader(1, isolation);
          for (let round = 0; round < 40; round++) {
            // Mostly one of the last two terms, sometimes a new one.
            if ((round + i) % 8 === 0) newest.term++;
            const term = Math.max(1, newest.term - (round % 3 === 0 ? 1 : 0));
            const done = await fenced(client, { groupId: "g", term, isolation }, async () => {
              const text =
                "SELECT count(*) FILTER (WHERE term < $1) AS older, coalesce(max(term), 0) AS top FROM work";
              const { rows } = await client.query<{ older: string; top: string }>(text, [term]);
              expect(Number(rows[0]?.top)).toBeLessThanOrEqual(term);
              await client.query("INSERT INTO work VALUES ($1, $2)", [term, `${i}/${round}`]);
              return { term, older: Number(rows[0]?.older) };
            }).catch((error: unknown) => {
              expect(["STALE_TERM", "40001"]).toContain(codeOf(error));
              return null;
            });
            if (done !== null) final.push(done);
          }
        }),
      );
      const { rows } = await watcher.query<{ term: string }>("SELECT term FROM work");
      const terms = rows.map(({ term }) => Number(term));
      expect(terms).toHaveLength(final.length);
      expect(new Set(terms).size).toBeGreaterThan(5);
      for (const { term, older } of final) {
        expect(older).toBe(terms.filter((each) => each < term).length);
      }
    });
  });

  test("one leader's transactions do not wait for each other, except under repeatable read", async () => {
    for (const isolation of ["read committed", "serializable"] as const) {
      const [a, b] = [await leader(4, isolation), await leader(4, isolation)];
      await fenced(a.client, a.options, async () => {});
      await a.begin();
      expect(await a.fence()).toBe("passed");
      expect(await b.run()).toBeDefined();
      await a.commit();
    }
    const [a, b] = [await leader(4, "repeatable read"), await leader(4, "repeatable read")];
    await a.begin();
    await a.fence();
    const running = b.run();
    await b.waits();
    await a.commit();
    await running;
  });

  test("a newer leader that waits is next: no later transaction of the older one gets in before it", async () => {
    const level = "read committed";
    const [old, another, next] = [await leader(1, level), await leader(1, level), await leader(2, level)];
    await old.run();
    await old.begin();
    expect(await old.fence()).toBe("passed");
    const running = next.run();
    await next.waits();
    const refused = another.run().catch(codeOf);
    await another.waits();
    await old.commit();
    expect(await running).toEqual([1]);
    expect(await refused).toBe("STALE_TERM");
  });

  test("fences of different groups do not block each other", async () => {
    const [a, b] = [await leader(1, "read committed"), await leader(1, "read committed")];
    await a.begin();
    await a.fence();
    await fenced(b.client, { groupId: "h", term: 1 }, async () => {});
    await a.rollback();
  });
});
