import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { BackendUnavailableError, type CasOp, InvalidRequestError, type Store } from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { type EtcdEngine, isMissing, startEtcd, waitLimitMs } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { askGateway, base64, entriesOf, Follower, swap, until } from "./etcd.test-kit.js";
import { EtcdStore } from "./etcd-store.js";

for (const [release, installed] of [
  ["system", "etcd"],
  ["newer", "newer etcd"],
] as const) {
  describe.skipIf(isMissing(installed))(`the contract of a store on three members of ${installed}`, () => {
    let engine: EtcdEngine;
    beforeAll(async () => {
      engine = await startEtcd({ nodes: 3, release });
    });
    afterAll(() => engine.stop());

    storeConformance({
      test,
      open: (prefix) => EtcdStore.open({ servers: engine.endpoints, prefix }),
    });
  });
}

function creations(count: number, value = "1"): CasOp[] {
  return Array.from({ length: count }, (_, i) => ({
    key: `r/${String(i).padStart(5, "0")}`,
    expected: null,
    value,
  }));
}

describe.skipIf(isMissing("etcd"))("a store on one etcd member", () => {
  let engine: EtcdEngine;
  let endpoint = "";
  let prefix = "";
  let store: Store;
  beforeAll(async () => {
    engine = await startEtcd({ args: ["--max-txn-ops", "1024"] });
    [endpoint = ""] = engine.endpoints;
  });
  afterAll(() => engine.stop());
  beforeEach(async () => {
    prefix = randomUUID();
    store = await EtcdStore.open({ servers: [endpoint], prefix });
  });
  afterEach(() => store.close());

  /** As another user of the same etcd, or an operator. */
  const put = (key: string): Promise<unknown> =>
    askGateway(endpoint, "kv/put", { key: base64(key), value: base64("x") });

  test("a URL names the store, and its path the prefix", async () => {
    const again = await openStore(`${engine.url}/${prefix}`);
    await store.compareAndSet(creations(1));
    expect([again.name, await again.sync()]).toEqual(["etcd", await store.sync()]);
    await again.close();
  });

  test("a snapshot of many pages is of one moment, and later changes follow without a gap", async () => {
    const keys = creations(5000);
    for (let i = 0; i < keys.length; i += 126) await store.compareAndSet(keys.slice(i, i + 126));
    let turns = 0;
    const follower = new Follower(store);
    // The first and the last key together, repeatedly: a snapshot between its pages would show one of two turns.
    const [first, last] = [keys[0] as CasOp, keys.at(-1) as CasOp];
    let expected = (await entriesOf(store)).get(first.key)?.revision ?? null;
    let expectedOfLast = (await entriesOf(store)).get(last.key)?.revision ?? null;
    let reading = true;
    const writing = (async () => {
      for (; reading; turns++) {
        const value = `turn ${turns}`;
        const outcomes = await store.compareAndSet([
          { key: first.key, expected, value },
          { key: last.key, expected: expectedOfLast, value },
        ]);
        [expected, expectedOfLast] = outcomes.map((outcome) =>
          outcome.kind === "swapped" ? outcome.revision : null,
        ) as [number, number];
      }
    })();
    await until("some turns were taken", () => turns > 3);
    for (let i = 0; i < 5; i++) {
      const entries = await entriesOf(store);
      expect(entries.size).toBe(keys.length);
      expect(entries.get(first.key)?.value).toBe(entries.get(last.key)?.value);
    }
    reading = false;
    await writing;
    await follower.reach(await store.sync());
    expect(follower.seen).toEqual(await entriesOf(store));
    await follower.stop();
  });

  test("writes of others outside the prefix move neither sync nor the feed", async () => {
    const follower = new Follower(store);
    await store.compareAndSet(creations(1));
    const revision = await store.sync();
    for (const key of ["a", prefix, `${prefix}/x`, `${prefix}/0`, `${prefix}0`, "z"]) await put(key);
    expect(await store.sync()).toBe(revision);
    await follower.reach(revision);
    expect(follower.progress).toBe(revision);
    expect([...follower.seen.keys()]).toEqual(["r/00000"]);
    await follower.stop();
  });

  test("a prefix within another one is a separate space", async () => {
    const within = await EtcdStore.open({ servers: [endpoint], prefix: `${prefix}/r` });
    await store.compareAndSet(creations(3));
    await within.compareAndSet(creations(2));
    expect([(await entriesOf(store)).size, (await entriesOf(within)).size]).toEqual([3, 2]);
    await within.close();
  });

  test("a batch of conflicts only moves sync, and an open feed reaches that revision", async () => {
    await store.compareAndSet(creations(1));
    const follower = new Follower(store);
    const before = await store.sync();
    expect((await swap(store, { key: "r/00000", expected: null, value: "2" })).kind).toBe("conflict");
    const after = await store.sync();
    expect(after).toBeGreaterThan(before);
    await follower.reach(after);
    await follower.stop();
  });

  test("a batch of long values is written in several requests, and the outcomes keep their order", async () => {
    const batch = creations(126, "x".repeat(40_000));
    const outcomes = await store.compareAndSet(batch);
    expect(outcomes.map(({ kind }) => kind)).toEqual(batch.map(() => "swapped"));
    expect(
      new Set(outcomes.map((outcome) => outcome.kind === "swapped" && outcome.revision)).size,
    ).toBeGreaterThan(3);
    const entries = await entriesOf(store);
    for (const [i, { key, value }] of batch.entries()) {
      expect(entries.get(key)).toEqual({
        key,
        value,
        revision: (outcomes[i] as { revision: number }).revision,
      });
    }
  });

  test("a cluster that allows more operations is used accordingly, and one that allows fewer refuses without a write", async () => {
    expect(store.limits.batchOps).toBe(126);
    const larger = await openStore(`${engine.url}/${prefix}?max_txn_ops=1024`);
    expect(larger.limits.batchOps).toBe(1022);
    await larger.compareAndSet(creations(1022));
    expect((await entriesOf(store)).size).toBe(1022);
    await larger.close();
    await expect(store.compareAndSet(creations(127))).rejects.toThrow(InvalidRequestError);

    const mistaken = await EtcdStore.open({ servers: [endpoint], prefix: `${prefix}-2`, maxTxnOps: 1025 });
    await expect(mistaken.compareAndSet(creations(1023))).rejects.toThrow(/too many operations/);
    await expect(mistaken.compareAndSet(creations(1023))).rejects.toThrow(BackendUnavailableError);
    expect((await entriesOf(mistaken)).size).toBe(0);
    await mistaken.close();
  });

  test("a feed ends when an operator deletes our keys, and the next feed shows what is left", async () => {
    await store.compareAndSet(creations(2));
    const follower = new Follower(store);
    await follower.reach(await store.sync());
    await askGateway(endpoint, "kv/deleterange", { key: base64(`${prefix}//r/00000`) });
    await until("the feed has ended", () => follower.endings.length > 0);
    expect(String(follower.endings[0])).toMatch(/somebody deleted/);
    expect([...(await entriesOf(store)).keys()]).toEqual(["r/00001"]);
    await follower.stop();
  });

  test("a process that has closed its etcd store ends by itself", async () => {
    const module = new URL("../../dist/index.js", import.meta.url).href;
    const script = `
      const { openStore } = await import(${JSON.stringify(module)});
      const store = await openStore(${JSON.stringify(`${engine.url}/${prefix}`)});
      await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
      const feed = store.feed()[Symbol.asyncIterator]();
      await feed.next();
      const rest = feed.next().catch((error) => error.code);
      await store.close();
      process.stdout.write(await rest);`;
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      timeout: waitLimitMs(20_000),
    });
    expect((await run).stdout).toBe("CLOSED");
  });
});
