import { type CasOutcome, type FeedItem, InvalidRequestError, type Store } from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { parseNatsUrl } from "./options.js";
import { snapshotOf } from "./register-check.test-kit.js";
import { ServerClient, until } from "./server.test-kit.js";

describe.skipIf(isMissing("nats"))("a store on one NATS server", () => {
  let engine: NatsEngine;
  let client: ServerClient;
  beforeAll(async () => {
    engine = await startNats();
    client = await ServerClient.open(engine.ports);
  });
  afterAll(async () => {
    await client?.connection.close();
    await engine?.stop();
  });

  const open = (bucket: string) => NatsStore.open(parseNatsUrl(engine.urlOf(bucket)));

  storeConformance({ test, open, dispose: (space) => client.remove(space) });

  test("every allowed key is written, read and compared, including the longest", async () => {
    const keys = new Set([
      "=head",
      "=long.x",
      "KV",
      ">",
      "*",
      " ",
      ".",
      "\u{10FFFF}".repeat(256),
      "漢".repeat(512),
      "漢".repeat(511),
      ".".repeat(512),
      "a.".repeat(256),
      "x".repeat(512),
    ]);
    for (let code = 1; code < 300; code++)
      keys.add(String.fromCodePoint(code)).add(`r/${String.fromCodePoint(code)}/x`);
    const [store, other] = [await open("keys"), await open("keys")];
    const batch = [...keys].map((key) => ({ key, expected: null, value: `of ${key}` }));
    const writeAll = async (to: Store): Promise<CasOutcome[]> => {
      const outcomes: CasOutcome[] = [];
      for (let i = 0; i < batch.length; i += to.limits.batchOps) {
        outcomes.push(...(await to.compareAndSet(batch.slice(i, i + to.limits.batchOps))));
      }
      return outcomes;
    };
    for (const outcome of await writeAll(store)) expect(outcome.kind).toBe("swapped");
    const entries = await snapshotOf(other);
    expect(new Map([...entries].map(([key, { value }]) => [key, value]))).toEqual(
      new Map(batch.map(({ key, value }) => [key, value])),
    );
    for (const [i, outcome] of (await writeAll(other)).entries()) {
      expect(outcome).toEqual({ kind: "conflict", current: entries.get((batch[i] as { key: string }).key) });
    }
    await Promise.all([store.close(), other.close()]);
  });

  test("values keep their first and last characters", async () => {
    const store = await open("values");
    const values = ["\uFEFF{}", " x ", "\n", "\u{1F980}"];
    await store.compareAndSet(values.map((value, i) => ({ key: `r/${i}`, expected: null, value })));
    expect([...(await snapshotOf(store)).values()].map(({ value }) => value)).toEqual(values);
    await store.close();
  });

  test("a value above a server's lower max_payload is refused, and none of its batch is written", async () => {
    await using small = await startNats({ config: "max_payload: 100000" });
    const store = await NatsStore.open(parseNatsUrl(small.urlOf("large")));
    const largest = { key: "r/b", expected: null, value: "é".repeat(49_000) };
    const batch = [
      { key: "r/a", expected: null, value: "1" },
      { key: "r/c", expected: null, value: "é".repeat(50_000) },
    ];
    await expect(store.compareAndSet(batch)).rejects.toThrow(InvalidRequestError);
    await expect(store.compareAndSet(batch)).rejects.toThrow(
      /of r\/c takes \d+ bytes, the server admits 100000/,
    );
    expect((await snapshotOf(store)).size).toBe(0);
    expect(await store.compareAndSet([largest])).toMatchObject([{ kind: "swapped" }]);
    await store.close();
  });

  test("a key that an operator deleted has an empty value, and its revision still counts", async () => {
    const store = await open("deleted");
    const [created] = await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    await client.connection.request("$KV.deleted.r/a", "");
    const entry = (await snapshotOf(store)).get("r/a");
    expect(entry?.value).toBe("");
    expect(entry?.revision).toBeGreaterThan((created as CasOutcome & { kind: "swapped" }).revision);
    const again = { key: "r/a", expected: entry?.revision ?? null, value: "2" };
    expect(await store.compareAndSet([again])).toMatchObject([{ kind: "swapped" }]);
    await store.close();
  });

  test("a feed that falls behind gets each key's last value, and no progress before it", async () => {
    const store = await open("bursts");
    const feed = store.feed()[Symbol.asyncIterator]();
    await feed.next();
    let progress = 0;
    for (let burst = 0; burst < 5; burst++) {
      // Faster than any consumer, so that most messages are replaced before they are read.
      for (let i = 0; i < 3000; i++) client.connection.publish(`$KV.bursts.r/${i % 7}`, `${burst}/${i}`);
      await client.connection.flush();
      const last = await store.sync();
      const seen = new Map<string, string>();
      while (progress < last) {
        const item = (await feed.next()).value as FeedItem;
        for (const { key, value } of item.entries) seen.set(key, value);
        progress = item.revision;
      }
      for (let key = 0; key < 7; key++) {
        const due = Array.from({ length: 3000 }, (_, i) => i).findLast((i) => i % 7 === key);
        expect(seen.get(`r/${key}`)).toBe(`${burst}/${due}`);
      }
    }
    await feed.return?.();
    await store.close();
  });

  test("a closed store leaves no consumer behind", async () => {
    const store = await open("consumers");
    await snapshotOf(store);
    const names = () => client.api<{ consumers: string[] | null }>("CONSUMER.NAMES.KV_consumers");
    expect((await names()).consumers).toHaveLength(1);
    await store.close();
    await until("it is gone", 20_000, async () => ((await names()).consumers ?? []).length === 0 || null);
  });
});
