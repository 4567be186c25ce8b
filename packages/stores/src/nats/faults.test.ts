import { BackendUnavailableError, type CasOp, type CasOutcome, type Revision } from "@tenure/core";
import { boundMs, FaultProxy, isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { NatsStatus } from "./connection.js";
import { NatsStore } from "./nats-store.js";
import { parseNatsUrl } from "./options.js";
import { Follower, snapshotOf } from "./register-check.test-kit.js";
import { ServerClient, until } from "./server.test-kit.js";

const SOON_MS = 20_000;

function op(key: string, expected: Revision | null, value: string): CasOp {
  return { key, expected, value };
}

async function swap(
  store: NatsStore,
  key: string,
  expected: Revision | null,
  value: string,
): Promise<Revision> {
  const [outcome] = await store.compareAndSet([op(key, expected, value)]);
  expect(outcome).toMatchObject({ kind: "swapped" });
  return (outcome as CasOutcome & { kind: "swapped" }).revision;
}

describe.skipIf(isMissing("nats"))("faults of one NATS server", () => {
  let engine: NatsEngine;
  let store: NatsStore;
  beforeEach(async () => {
    engine = await startNats();
    store = await NatsStore.open(parseNatsUrl(engine.url));
  });
  afterEach(async () => {
    await store?.close();
    await engine?.stop();
  });

  const server = () => engine.nodes[0] as NatsEngine["nodes"][number];
  const connected = () => until("connected again", SOON_MS, () => store.status === "connected" || null);

  test("a NATS server killed and restarted has every write, and the same store continues", async () => {
    const follower = new Follower(store);
    const changes: NatsStatus[] = [];
    store.onStatus((status) => changes.push(status));
    let present: Revision | null = null;
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 20; i++) {
        const next: Revision = await swap(store, "r/a", present, `${round}/${i}`);
        expect(next).toBeGreaterThan(present ?? 0);
        present = next;
      }
      await server().kill();
      await until("disconnected", SOON_MS, () => store.status === "disconnected" || null);
      await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
      await server().start();
      await connected();
    }
    const last = await until("a sync", SOON_MS, () => store.sync());
    expect(last).toBeGreaterThan(present ?? 0);
    await until("the feed is there", SOON_MS, () => follower.progress >= last || null);
    expect(follower.seen.get("r/a")).toEqual({ key: "r/a", value: "2/19", revision: present });
    expect(follower.breaks.length).toBeGreaterThanOrEqual(3);
    for (const reason of follower.breaks) expect(reason).toBeInstanceOf(BackendUnavailableError);
    expect(changes).toEqual(Array.from({ length: 3 }, () => ["disconnected", "connected"]).flat());
    await follower.stop();
  });

  test("while a NATS server hangs, calls and feeds end in time, and afterwards every write is there", async () => {
    const follower = new Follower(store);
    const first = await swap(store, "r/a", null, "1");
    await until("the feed is there", SOON_MS, () => follower.progress >= first || null);
    await server().pause();
    const pausedAtMs = performance.now();
    // The last threads of the server stop a little later.
    let outcome: CasOutcome | undefined;
    for (let present = first; outcome?.kind !== "uncertain";) {
      [outcome] = await store.compareAndSet([op("r/a", present, "1")]);
      expect(outcome?.kind).not.toBe("conflict");
      if (outcome?.kind === "swapped") present = outcome.revision;
    }
    expect(outcome.cause).toBeInstanceOf(BackendUnavailableError);
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    await until("the feed is given up", SOON_MS, () => follower.breaks.length > 0 || null);
    expect(performance.now() - pausedAtMs).toBeLessThan(boundMs(SOON_MS));
    server().resume();
    await connected();
    const last = await until("a sync", SOON_MS, () => store.sync());
    await until("the feed is there", SOON_MS, () => follower.progress >= last || null);
    // An uncertain write may have been in the server's buffers, and written later.
    const entry = follower.seen.get("r/a");
    expect(entry?.value).toBe("1");
    await swap(store, "r/a", entry?.revision ?? null, "3");
    await follower.stop();
  });

  test("a store closes soon while its NATS server is gone", async () => {
    await server().kill();
    await until("disconnected", SOON_MS, () => store.status === "disconnected" || null);
    await store.close();
    expect(store.status).toBe("closed");
  });

  test("revisions rise across a purge and a later restart", async () => {
    const before = await swap(store, "r/a", null, "1");
    await using client = await ServerClient.open(engine.ports);
    await client.api("STREAM.PURGE.KV_tenure");
    const after = await store.sync();
    expect(after).toBeGreaterThan(before);
    await client.api("STREAM.PURGE.KV_tenure");
    await server().kill();
    await server().start();
    await connected();
    expect(await until("a sync", SOON_MS, () => store.sync())).toBeGreaterThan(after);
  });
});

describe.skipIf(isMissing("nats"))("faults of the network to NATS", () => {
  let engine: NatsEngine;
  let proxy: FaultProxy;
  let near: NatsStore;
  let far: NatsStore;
  let bucket = 0;
  beforeAll(async () => {
    engine = await startNats();
  });
  afterAll(() => engine?.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.open({ host: "127.0.0.1", port: engine.ports[0] as number });
    const name = `faults-${++bucket}`;
    near = await NatsStore.open(parseNatsUrl(engine.urlOf(name)));
    far = await NatsStore.open({ servers: [`127.0.0.1:${proxy.port}`], bucket: name });
  });
  afterEach(async () => {
    await far?.close();
    await near?.close();
    await proxy?.close();
  });

  const connected = () => until("connected again", SOON_MS, () => far.status === "connected" || null);

  test("a write whose answer is lost is uncertain, and a read finds it", async () => {
    const first = await swap(far, "r/a", null, "1");
    proxy.loseAnswers();
    const written = far.compareAndSet([op("r/a", first, "2"), op("r/b", null, "2"), op("r/c", first, "2")]);
    const found = await until("it is written", SOON_MS, async () => (await snapshotOf(near)).get("r/b"));
    expect(found.value).toBe("2");
    // Nothing comes back, so the connection is abandoned; refused and written operations cannot be distinguished.
    for (const outcome of await written) expect(outcome.kind).toBe("uncertain");
    proxy.cut();
    proxy.mend();
    await connected();
    const entries = await snapshotOf(far);
    expect([...entries.values()].map(({ key, value }) => [key, value])).toEqual([
      ["r/a", "2"],
      ["r/b", "2"],
    ]);
    // The same comparison again shows that it was already made.
    const [again] = await far.compareAndSet([op("r/a", first, "again")]);
    expect(again).toEqual({ kind: "conflict", current: entries.get("r/a") });
  });

  test("a write that is aborted after it was sent is uncertain at once", async () => {
    proxy.loseAnswers();
    const controller = new AbortController();
    const reason = new Error("enough");
    const written = far.compareAndSet([op("r/a", null, "1")], { signal: controller.signal });
    const synced = far.sync({ signal: controller.signal });
    controller.abort(reason);
    expect(await written).toEqual([{ kind: "uncertain", cause: reason }]);
    await expect(synced).rejects.toBe(reason);
  });

  test("a write without a connection is refused, and never sent later", async () => {
    await near.compareAndSet([op("r/a", null, "1")]);
    const changes: NatsStatus[] = [];
    far.onStatus((status) => changes.push(status));
    proxy.cut();
    // Before the cut is noticed as well as after: each write is refused, or sent into the void.
    for (let i = 0; far.status === "connected"; i++) {
      const outcome = await far
        .compareAndSet([op(`r/early-${i}`, null, "1")])
        .catch((error: unknown) => error);
      if (!Array.isArray(outcome)) expect(outcome).toBeInstanceOf(BackendUnavailableError);
      else expect(outcome).toMatchObject([{ kind: "uncertain" }]);
    }
    for (let i = 0; i < 100; i++) {
      await expect(far.compareAndSet([op(`r/late-${i}`, null, "1")])).rejects.toThrow(
        BackendUnavailableError,
      );
    }
    proxy.mend();
    await connected();
    await far.sync();
    expect([...(await snapshotOf(far)).keys()]).toEqual(["r/a"]);
    expect(changes).toEqual(["disconnected", "connected"]);
  });

  test("acknowledged operations of a batch that is cut off in the middle are there", async () => {
    for (let round = 0; round < 5; round++) {
      await connected();
      const ops = Array.from({ length: 200 }, (_, i) => op(`r/${round}/${i}`, null, "1"));
      const calls = ops.map((each) => far.compareAndSet([each]));
      if (round > 0) await calls[40 * (round - 1)]?.catch(() => null);
      proxy.cut();
      const told = await Promise.allSettled(calls);
      proxy.mend();
      const entries = await snapshotOf(near);
      for (const [i, answer] of told.entries()) {
        const entry = entries.get((ops[i] as CasOp).key);
        if (answer.status === "rejected") expect(entry).toBeUndefined();
        else if (answer.value[0]?.kind === "swapped") expect(entry?.revision).toBe(answer.value[0].revision);
        else expect(answer.value).toMatchObject([{ kind: "uncertain" }]);
      }
    }
  });

  test("a feed whose connection is silent ends, and the next one has no gap", async () => {
    const follower = new Follower(far);
    const first = await swap(near, "r/a", null, "1");
    await until("the feed is there", SOON_MS, () => follower.progress >= first || null);
    proxy.loseAnswers();
    let present = first;
    for (let i = 0; i < 50; i++) present = await swap(near, "r/a", present, `${i}`);
    await until("the feed is given up", SOON_MS, () => follower.breaks.length > 0 || null);
    for (const reason of follower.breaks) expect(reason).toBeInstanceOf(BackendUnavailableError);
    proxy.cut();
    proxy.mend();
    await until("the feed is there", SOON_MS, () => follower.progress >= present || null);
    expect(follower.seen.get("r/a")).toEqual({ key: "r/a", value: "49", revision: present });
    await follower.stop();
  });
});
