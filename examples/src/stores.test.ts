/** The examples that need PostgreSQL or NATS, over the store itself, without a service. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, headers } from "@nats-io/transport-node";
import { isMissing, type NatsEngine, type PostgresEngine, startNats, startPostgres } from "@tenure/engines";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, type Environment, Program } from "./examples.test-kit.js";

describe.skipIf(isMissing("postgres") || isMissing("nats"))("with PostgreSQL and NATS", () => {
  let postgres: PostgresEngine;
  let nats: NatsEngine;
  let database: Client;
  let env: Environment;
  beforeAll(async () => {
    [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
    database = new Client(postgres.url);
    await database.connect();
    // One pool of connections is the program's, another one is the elector's.
    env = {
      DATABASE_URL: postgres.url,
      TENURE_SERVER: `${postgres.url}?schema=tenure`,
      NATS_URL: `nats://127.0.0.1:${nats.ports[0]}`,
    };
  });
  afterAll(async () => {
    await cleanUp();
    await database.end();
    await Promise.all([postgres.stop(), nats.stop()]);
  });

  const start = (name: string, nodeId: string, more: Environment = {}) =>
    new Program(`examples/dist/${name}.js`, [nodeId], { ...env, ...more });

  const ticksOf = async () => {
    const { rows } = await database.query<{ tick: Date; term: string }>(
      "SELECT tick, term FROM cron_tick ORDER BY tick",
    );
    return rows.map(({ tick, term }) => ({ time: tick.toISOString(), term: Number(term) }));
  };

  test.concurrent("cron: each tick fires on one process, also when the leader is killed or frozen", async () => {
    const everySecond = { CRON: "* * * * * *" };
    const [a, b, c] = ["a", "b", "c"].map((nodeId) => start("cron", nodeId, everySecond));
    const nodes = [a, b, c] as Program[];
    const leaderAfter = async (term: number) => {
      const node = await Promise.any(
        nodes.map((each) =>
          each
            .until((lines) => lines.find((line) => Number(/fired \S+ in term (\d+)/.exec(line)?.[1]) > term))
            .then((line) => ({ each, term: Number(/in term (\d+)/.exec(line)?.[1]) })),
        ),
      );
      return node;
    };
    const first = await leaderAfter(0);
    await first.each.end("SIGKILL");
    const second = await leaderAfter(first.term);
    await second.each.pause();
    const third = await leaderAfter(second.term);
    second.each.resume();
    await second.each.said(/no longer leads: /);
    // Ticks that it would fire now, it does not.
    const seen = third.each.lines.length;
    await third.each.until((lines) => (lines.length > seen + 2 ? true : null));
    for (const each of [second.each, third.each]) expect(await each.end("SIGTERM")).toBe(0);

    const fired = nodes
      .flatMap(({ lines }) => lines)
      .flatMap((line) => {
        const [, time = "", term] = /fired (\S+) in term (\d+)/.exec(line) ?? [];
        return time === "" ? [] : [{ time, term: Number(term) }];
      })
      .toSorted((x, y) => x.time.localeCompare(y.time));
    const times = fired.map(({ time }) => time);
    expect(new Set(times).size).toBe(times.length);
    const terms = fired.map(({ term }) => term);
    expect(terms).toEqual(terms.toSorted((x, y) => x - y));
    // What was printed was committed, after the row of the beginning. Only a killed leader may not have printed a tick.
    const recorded = (await ticksOf()).slice(1);
    expect(recorded).toEqual(expect.arrayContaining(fired));
    expect(recorded.length - fired.length).toBeLessThanOrEqual(1);

    // Nightly, so to speak: the last recorded tick is some minutes ago, and no process ran since.
    await database.query("DELETE FROM cron_tick");
    await database.query(
      "INSERT INTO cron_tick VALUES ('report', date_trunc('minute', now()) - interval '9 min', 1)",
    );
    const late = start("cron", "late", { CRON: "0 * * * * *" });
    const [tick = ""] = await late.until((lines) =>
      /fired (\S+) in term \d+, \d+ ms late/.exec(lines.join("\n"))?.slice(1),
    );
    expect(Date.now() - Date.parse(tick)).toBeLessThan(61_000);
    expect(await late.end("SIGTERM")).toBe(0);
    // Of the missed ticks only the latest, and once.
    const made = (await ticksOf()).slice(1);
    expect(made[0]?.time).toBe(tick);
    expect(made.length).toBeLessThanOrEqual(2);
  });

  test.concurrent("postgres-worker: a late leader's write is refused, and its successor's is kept", async () => {
    const deliveries: { readonly key: string; readonly response: ServerResponse }[] = [];
    const arrivals = new EventTarget();
    const receiver = createServer((request: IncomingMessage, response) => {
      request.resume();
      deliveries.push({ key: String(request.headers["idempotency-key"]), response });
      arrivals.dispatchEvent(new Event("arrival"));
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const delivery = async (index: number) => {
      while (deliveries[index] === undefined) await once(arrivals, "arrival");
      return deliveries[index];
    };
    const send = () => database.query("INSERT INTO outbox (url, body) VALUES ($1, '{}')", [url]);
    try {
      const a = start("postgres-worker", "a");
      await a.said(/a leads in term 1$/);
      await send();
      const toA = await delivery(0);
      // The worker waits for the receiver when it is frozen.
      await a.pause();
      const b = start("postgres-worker", "b");
      await b.said(/b leads in term 2$/);
      const toB = await delivery(1);
      expect([toA.key, toB.key]).toEqual(["outbox/1", "outbox/1"]);
      toB.response.end();
      await b.said(/b delivered 1 in term 2$/);
      toA.response.end();
      a.resume();
      await a.said(/a was refused 1 in term 1: term 2 has written$/);
      await a.said(/a no longer leads: /);
      const { rows } = await database.query("SELECT id, delivered_in_term FROM outbox");
      expect(rows).toEqual([{ id: "1", delivered_in_term: "2" }]);

      // The message that is being delivered is recorded before another node leads.
      await send();
      const last = await delivery(2);
      const ended = b.end("SIGTERM");
      last.response.end();
      expect(await ended).toBe(0);
      expect(b.lines).toContain("b delivered 2 in term 2");
      await a.said(/a leads in term 3$/);
      expect(await a.end("SIGTERM")).toBe(0);
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  });

  test.concurrent("nats-direct: receivers drop what a replaced leader sends", async () => {
    const a = start("nats-direct", "a");
    await a.said(/a leads in term 1$/);
    const b = start("nats-direct", "b");
    await b.said(/got a\/\d+ of term 1$/);
    await a.end("SIGKILL");
    await b.said(/got b\/1 of term 2$/);
    const c = start("nats-direct", "c");
    await c.said(/got b\/\d+ of term 2$/);
    const connection = await connect({ servers: env["NATS_URL"] ?? "" });
    const head = headers();
    head.set("Tenure-Term", "1");
    connection.publish("example.numbers", "late", { headers: head });
    await connection.drain();
    await Promise.all([b, c].map((node) => node.said(/refused late of term 1$/)));
    for (const node of [b, c]) expect(await node.end("SIGTERM")).toBe(0);
  });
});
