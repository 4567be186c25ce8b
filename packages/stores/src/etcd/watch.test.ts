/** Watches that begin in the past, which a feed rarely has: of large changes, compacted revisions, or another count. */
import { randomUUID } from "node:crypto";
import type { Entry, Revision, Store } from "@tenure/core";
import { type EtcdEngine, isMissing, startEtcd } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Connection } from "./connection.js";
import { askGateway, entriesOf, Follower, swap, until } from "./etcd.test-kit.js";
import { EtcdStore } from "./etcd-store.js";
import { Keyspace } from "./keyspace.js";
import { Members } from "./members.js";
import { checkOptions } from "./options.js";
import { loadProtocol } from "./protocol.js";
import { readSnapshot, type Snapshot } from "./snapshot.js";
import { Watch } from "./watch.js";

describe.skipIf(isMissing("etcd"))("a watch of etcd", () => {
  let engine: EtcdEngine;
  let store: Store;
  let members: Members;
  let keyspace: Keyspace;
  let connection: Connection;
  beforeAll(async () => {
    engine = await startEtcd();
  });
  afterAll(() => engine.stop());
  beforeEach(async () => {
    const options = { servers: engine.endpoints, prefix: randomUUID() };
    store = await EtcdStore.open(options);
    keyspace = new Keyspace(options.prefix);
    members = new Members(checkOptions(options), await loadProtocol(), keyspace.head);
    connection = await members.connected();
  });
  afterEach(async () => {
    await members.close();
    await store.close();
  });

  const snapshotNow = async (): Promise<Snapshot> =>
    readSnapshot(connection, await loadProtocol(), keyspace, AbortSignal.timeout(20_000));

  /** Writes a value of `bytes` bytes to a key, `times` times. */
  async function write(times: number, bytes: number): Promise<Revision> {
    let expected: Revision | null = (await entriesOf(store)).get("r/a")?.revision ?? null;
    for (let i = 0; i < times; i++) {
      const outcome = await swap(store, { key: "r/a", expected, value: `${i}`.padEnd(bytes) });
      if (outcome.kind !== "swapped") throw new Error(outcome.kind);
      expected = outcome.revision;
    }
    return expected as Revision;
  }

  /** What a watch from that snapshot delivers until `revision`, or how it ends. */
  function watchFrom(snapshot: Pick<Snapshot, "revision" | "batches">, revision: Revision): Promise<Entry[]> {
    return new Promise((resolve, reject) => {
      const told: Entry[] = [];
      const end = new AbortController();
      const changes = (entries: readonly Entry[], progress: Revision): void => {
        told.push(...entries);
        if (progress < revision) return;
        end.abort();
        resolve(told);
      };
      const sink = { changes, fail: reject };
      new Watch({ connection, keyspace, snapshot, sink, signal: end.signal }).start();
    });
  }

  test("a watch delivers all changes that are too large for one message", async () => {
    const before = await snapshotNow();
    const last = await write(8, 1_000_000);
    const told = await watchFrom(before, last);
    expect(told.map(({ value }) => value.trim())).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    expect(told.at(-1)?.revision).toBe(last);
  });

  test("a watch that finds a batch missing breaks", async () => {
    const before = await snapshotNow();
    const last = await write(3, 1);
    await expect(watchFrom({ ...before, batches: before.batches - 1 }, last)).rejects.toThrow(/left out/);
    expect((await watchFrom(before, last)).length).toBe(3);
  });

  test("a watch of a compacted revision breaks; an open feed continues, and the next one begins with everything", async () => {
    const before = await snapshotNow();
    const follower = new Follower(store);
    const last = await write(5, 1);
    await follower.reach(last);
    await askGateway(engine.endpoints[0] as string, "kv/compaction", { revision: `${last}`, physical: true });
    await expect(watchFrom(before, last)).rejects.toThrow(/compacted/);
    const next = await write(1, 2);
    await follower.reach(next);
    expect(follower.endings).toEqual([]);
    expect((await entriesOf(store)).get("r/a")?.revision).toBe(next);
    await follower.stop();
  });

  test("a watch without writes stays open as long as its member is there", async () => {
    let looks = 0;
    const check = connection.check.bind(connection);
    connection.check = () => check().finally(() => looks++);
    const watching = watchFrom(await snapshotNow(), 1);
    const broken = watching.then(
      () => false,
      () => true,
    );
    await until("the member was asked twice", () => looks >= 2);
    expect(connection.isOpen).toBe(true);
    connection.close();
    expect(await broken).toBe(true);
  });
});
