import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BackendUnavailableError, type Entry, InvalidRequestError } from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { freePorts, isMissing, startZookeeper, type ZookeeperEngine, waitLimitMs } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { Follower, snapshotOf, swapped } from "./faults.test-kit.js";
import { Tree } from "./tree.js";
import type { OpCode } from "./wire/protocol.js";
import { ZookeeperSession } from "./wire/session.js";

const DELETE = 2 as OpCode;
const ANY_VERSION = -1;

describe.skipIf(isMissing("zookeeper"))("ZookeeperStore", () => {
  let engine: ZookeeperEngine;
  let spaces = 0;
  beforeAll(async () => {
    engine = await startZookeeper();
  });
  afterAll(() => engine.stop());

  const space = () => `space-${++spaces}`;
  const open = (path: string) => openStore(`${engine.url}/${path}`);

  storeConformance({ test, open });

  test("every allowed key is read back from ZooKeeper, even if it is not valid as a node name", async () => {
    const keys = [".", "..", "...", "zookeeper", "%", "%2F", "a%2Fb", "a/b", "\u0001", "漢".repeat(512)];
    keys.push("\u{10FFFF}".repeat(256), "\uE000", "\uFFF0", "\uFEFF", "\u{1F980}");
    for (let code = 1; code < 300; code++) keys.push(`r/${String.fromCodePoint(code)}/x`);
    const path = space();
    const store = await open(path);
    const all = [...new Set(keys)].map((key) => ({ key, expected: null, value: `of ${key}` }));
    for (let i = 0; i < all.length; i += store.limits.batchOps) {
      const outcomes = await store.compareAndSet(all.slice(i, i + store.limits.batchOps));
      expect(outcomes.filter(({ kind }) => kind !== "swapped")).toEqual([]);
    }
    const again = await open(path);
    const found = [...(await snapshotOf(again)).values()].map(({ key, value }) => [key, value]);
    expect(new Map(found as [string, string][])).toEqual(new Map(all.map(({ key, value }) => [key, value])));
    await store.close();
    await again.close();
  });

  test("values up to a million bytes are stored, and larger ones are refused before they are sent", async () => {
    const store = await open(space());
    const values = ["x".repeat(1_000_000), "漢".repeat(333_333)];
    for (const [i, value] of values.entries()) await swapped(store, `r/${i}`, null, value);
    // Together more than a server accepts in one request.
    const batch = Array.from({ length: 30 }, (_, i) => ({
      key: `m/${i}`,
      expected: null,
      value: "y".repeat(100_000),
    }));
    expect((await store.compareAndSet(batch)).map(({ kind }) => kind)).toEqual(batch.map(() => "swapped"));
    const found = await snapshotOf(store);
    expect(values.map((_, i) => found.get(`r/${i}`)?.value)).toEqual(values);
    expect(found.size).toBe(32);
    for (const value of ["x".repeat(1_000_001), "漢".repeat(333_334)]) {
      const write = store.compareAndSet([{ key: "r/x", expected: null, value }]);
      await expect(write).rejects.toThrow(InvalidRequestError);
      await expect(write).rejects.toThrow(
        /^batch\[0\]\.value of r\/x takes \d+ bytes; the store accepts at most 1000000$/,
      );
    }
    await store.close();
  });

  test("a revision that this process has never seen is compared correctly", async () => {
    const path = space();
    const [writer, stranger] = [await open(path), await open(path)];
    const first = await swapped(writer, "r/a", null, "1");
    const second = await swapped(stranger, "r/a", first, "2");
    const third = await swapped(writer, "r/a", second, "3");
    const [outcome] = await stranger.compareAndSet([{ key: "r/a", expected: second, value: "4" }]);
    expect(outcome).toEqual({ kind: "conflict", current: { key: "r/a", value: "3", revision: third } });
    await writer.close();
    await stranger.close();
  });

  test("conflicts in a batch do not affect the other operations, and each shows the current entry", async () => {
    const path = space();
    const [store, other] = [await open(path), await open(path)];
    const keys = Array.from({ length: 40 }, (_, i) => `r/${i}`);
    const created = await store.compareAndSet(keys.map((key) => ({ key, expected: null, value: "1" })));
    const revisionOf = (i: number) => (created[i] as { revision: number }).revision;
    for (const losers of [1, 3, 20, 40]) {
      const key = (i: number) => `${keys[i]}/${losers}`;
      const mine = await store.compareAndSet(
        keys.map((_, i) => ({ key: key(i), expected: null, value: "1" })),
      );
      const before = mine.map((outcome) => (outcome as { revision: number }).revision);
      // Not through the store, which has no feed and cannot know.
      const theirs = new Map<number, number>();
      for (let i = 0; i < losers; i++) {
        const index = (7 * i) % keys.length;
        theirs.set(index, await swapped(other, key(index), before[index]!, "theirs"));
      }
      const outcomes = await store.compareAndSet(
        keys.map((_, i) => ({ key: key(i), expected: before[i]!, value: "mine" })),
      );
      for (const [i, outcome] of outcomes.entries()) {
        const revision = theirs.get(i);
        if (revision === undefined) expect(outcome.kind).toBe("swapped");
        else {
          expect(outcome).toEqual({ kind: "conflict", current: { key: key(i), value: "theirs", revision } });
        }
      }
    }
    expect((await snapshotOf(other)).get("r/0")?.revision).toBe(revisionOf(0));
    await store.close();
    await other.close();
  });

  test("a feed of ten thousand keys has one snapshot and one watch, and shows each change of another store", async () => {
    const path = space();
    const [store, other] = [await open(path), await open(path)];
    const keys = Array.from({ length: 10_000 }, (_, i) => `r/a-group-with-a-name-${i}`);
    const entries = new Map<string, Entry>();
    const writeAll = async (value: string) => {
      for (let i = 0; i < keys.length; i += store.limits.batchOps) {
        const batch = keys.slice(i, i + store.limits.batchOps).map((key) => {
          return { key, expected: entries.get(key)?.revision ?? null, value };
        });
        for (const [j, outcome] of (await store.compareAndSet(batch)).entries()) {
          const { key } = batch[j]!;
          if (outcome.kind === "swapped") entries.set(key, { key, value, revision: outcome.revision });
        }
      }
    };
    await writeAll("1");
    const follower = new Follower(other);
    await follower.reach(await other.sync());
    expect(follower.seen).toEqual(entries);
    await writeAll("2");
    await follower.reach(await other.sync());
    expect(follower.seen).toEqual(entries);
    expect(follower.breaks).toEqual([]);
    await follower.stop();
    await store.close();
    await other.close();
  });

  test("a key that an operator deletes ends the feed with that reason, and the next feed is without it", async () => {
    const path = space();
    const store = await open(path);
    await swapped(store, "r/a", null, "1");
    const first = await swapped(store, "r/b", null, "1");
    const feed = store.feed()[Symbol.asyncIterator]();
    await feed.next();
    const server = { host: "127.0.0.1", port: engine.ports[0]! };
    const options = { timeoutMs: 4000, credentials: undefined, tls: undefined };
    const operator = await ZookeeperSession.open(server, options, new AbortController().signal);
    const node = new Tree(`/${path}`).path("r/b");
    await operator.call(
      DELETE,
      (writer) => writer.text(node).int(ANY_VERSION),
      () => undefined,
    );
    await operator.close();
    const reading = (async () => {
      for (;;) await feed.next();
    })();
    await expect(reading).rejects.toThrow(/r\/b was deleted/);
    expect([...(await snapshotOf(store)).keys()]).toEqual(["r/a"]);
    const [outcome] = await store.compareAndSet([{ key: "r/b", expected: first, value: "2" }]);
    expect(outcome).toEqual({ kind: "conflict", current: null });
    await swapped(store, "r/b", null, "3");
    await store.close();
  });

  test("open at an address without ZooKeeper says so and what to do", async () => {
    const [port] = await freePorts(1);
    const refused = openStore(`zookeeper://127.0.0.1:${port}`);
    await expect(refused).rejects.toThrow(BackendUnavailableError);
    await expect(refused).rejects.toThrow(/ECONNREFUSED.*; check that one runs/);
    const web = createServer().listen(0, "127.0.0.1");
    await once(web, "listening");
    const wrong = openStore(`zookeeper://127.0.0.1:${(web.address() as AddressInfo).port}`);
    await expect(wrong).rejects.toThrow(/no ZooKeeper server can be used/);
    web.close();
  });

  test("one reachable ZooKeeper server of many is enough", async () => {
    const ports = await freePorts(2);
    const store = await openStore(
      `zookeeper://127.0.0.1:${ports[0]},127.0.0.1:${engine.ports[0]},127.0.0.1:${ports[1]}/${space()}`,
    );
    await swapped(store, "r/a", null, "1");
    await store.close();
  });

  test("a process that has closed its store ends by itself, without a library to install", () => {
    const script = `
      const { openStore } = await import(${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)});
      const store = await openStore(${JSON.stringify(`${engine.url}/${space()}`)});
      const feed = store.feed()[Symbol.asyncIterator]();
      await feed.next();
      const waiting = feed.next().catch((error) => error.code);
      await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
      await store.close();
      process.stdout.write(store.name + " " + typeof (await waiting));`;
    const ended = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: waitLimitMs(20_000),
    });
    expect(ended).toMatch(/^zookeeper/);
  });
});
